package trial

import (
	"fmt"
	"math"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// divideServers enters what each of several servers of a service did over the window, and
// how they shared the load. One that is alone in its arm got all of it.
func (a *attempt) divideServers() {
	if a.searches() || !a.Study.Servers() {
		return
	}
	rates := serverRates(a.recorder.Intervals(), a.record.Window)
	if len(rates) == 0 {
		rates = []float64{a.record.Values[a.kind.Rate]}
	}
	for i, rate := range rates {
		a.record.Parts = append(a.record.Parts, measure.Part{
			Machine: fmt.Sprintf("server %d", i+1), Workload: a.kind.Name, Rate: a.kind.Rate, Values: map[string]float64{a.kind.Rate: rate},
		})
	}
	a.record.Values[study.Fairness], a.record.Values[study.Least] = fairness(rates)
}

// serverRates are the operations per second of each server; nil where there is one.
func serverRates(intervals []measure.Interval, window measure.Window) []float64 {
	var rates []float64
	seconds := 0.
	for i := range intervals {
		in := &intervals[i]
		if !window.Holds(in) {
			continue
		}
		seconds += (in.To - in.From).Seconds()
		for server, n := range in.Shares {
			if server == len(rates) {
				rates = append(rates, 0)
			}
			rates[server] += float64(n)
		}
	}
	for i := range rates {
		rates[i] /= seconds
	}
	return rates
}

// fairness tells how the machines of a group shared what there was.
func fairness(rates []float64) (index, least float64) {
	least = math.Inf(1)
	for _, r := range rates {
		least = min(least, r)
	}
	return measure.Jain(rates), least
}
