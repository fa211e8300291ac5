package certify

import "slices"

// Limit is the largest value with which a check passes.
type Limit struct {
	Check  string  `json:"check"` // name of the check
	Most   float64 `json:"most"`  // share of one
	Voids  bool    `json:"voids,omitempty"`
	Reason string  `json:"reason"`
}

// watched are the checks that can be watched while a load runs.
var watched = []string{"steal", "cpu pressure", "throttling"}

// Watched lists the checks whose counters can be watched while a load runs.
func Watched() (limits []Limit) {
	for _, r := range rules {
		if slices.Contains(watched, r.name) {
			limits = append(limits, Limit{r.name, r.limit, r.voids, r.reason})
		}
	}
	return limits
}

// Counters are the names of the counters of the watched checks.
func Counters() []string { return []string{StealCounter, CountCounter, cpuPressure, throttled} }

// Shares are the shares that the watched checks limit, by the name of the check, of the counters of a
// machine. A counter that the machine lacks is left out.
func Shares(counters map[string]float64) map[string]float64 {
	shares := map[string]float64{}
	for check, name := range map[string]string{"steal": StealCounter, "cpu pressure": cpuPressure, "throttling": throttled} {
		v, ok := counters[name]
		if check == "steal" {
			whole := counters[CountCounter]
			ok, v = ok && whole > 0, v/max(whole, 1)
		}
		if ok {
			shares[check] = v
		}
	}
	return shares
}
