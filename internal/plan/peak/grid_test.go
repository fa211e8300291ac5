package peak

import (
	"math/rand/v2"
)

// grid is the sweep that people run without a search: rates in equal steps from
// the first, each tried several times, until two rates in a row fail every time.
type grid struct {
	step    float64 // 1/s
	repeats int
	strict  bool // the interval reaches from the last rate that passed each time to the first that failed each time; otherwise most decides
}

// sweep returns the interval between pass and fail, and the load time.
func (g grid) sweep(v server, r *rand.Rand) (low, high, seconds float64) {
	failing := 0
	passing := true // so far, without a gap
	for i := 0; failing < 2; i++ {
		p := Probe{Rate: 100 + g.step*float64(i), Seconds: 30}
		kept := 0
		for range g.repeats {
			if v.serve(r, p, 0).Pass {
				kept++
			}
			seconds += p.Seconds
		}
		fails := kept == 0 || !g.strict && 2*kept < g.repeats
		passes := kept == g.repeats || !g.strict && 2*kept > g.repeats
		if passing = passing && passes; passing {
			low = p.Rate
		}
		if fails && high == 0 {
			high = p.Rate
		}
		if failing++; !fails {
			failing = 0
		}
	}
	return low, high, seconds
}
