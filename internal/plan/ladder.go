package plan

import (
	"math"

	"plimsoll/internal/measure"
	"plimsoll/internal/plan/peak"
)

// LadderPoints are the probes of all ladders of an arm, for peak.Estimate, by a response time
// quantile. Probes limited by the generator are left out; overloaded ones have no steady
// response time.
func LadderPoints(records []measure.Record, arm int, metric string) []peak.Point {
	var points []peak.Point
	for i := range records {
		r := &records[i]
		if r.Arm != arm || !r.Valid() {
			continue
		}
		for _, p := range r.Probes {
			if p.Phase != string(peak.Rungs) || p.Invalid {
				continue
			}
			v, known := p.Values[metric]
			if !known || p.Overload {
				v = math.NaN()
			}
			points = append(points, peak.Point{Rate: p.Rate, Seconds: v})
		}
	}
	return points
}
