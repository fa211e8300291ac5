package judge

import (
	"testing"
	"time"

	"plimsoll/internal/finding"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

func TestClosedLoop(t *testing.T) {
	const rule = "closed_loop"
	w := world{blocks: 6, arms: []float64{1, 1.27}, cv: .01, demand: threads(1, 2)}
	if e := fires(t, w, rule, rule); e.Grade != finding.AccountsFor || e.Arm != 1 {
		t.Errorf("%+v", e)
	}
	fires(t, world{blocks: 6, arms: []float64{1, 1.27}, cv: .01, demand: sameDemand}, rule, rule+"_same")
	const think = 200 * time.Microsecond
	fires(t, world{blocks: 6, arms: []float64{1, 1.27}, cv: .01, demand: func(arm int) load.Demand {
		d := sameDemand(arm)
		d.Think = think
		return d
	}, values: func(_ int, r *measure.Record) { r.Values["mean"] -= think.Seconds() }}, rule, rule+"_think")
	alike := w
	alike.arms = []float64{1, 1.005} // nothing is decided
	alike.cv = .03
	silent(t, alike, rule)
	alike = w
	alike.values = func(arm int, r *measure.Record) { r.Values["mean"] *= 1 + .5*float64(arm) } // the parts do not make the whole
	silent(t, alike, rule)
}
