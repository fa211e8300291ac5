package peak

import (
	"fmt"
	"math"
)

// agree completes the reasons of the answer from all probes, confirmations included, so
// that no sentence claims more than they show.
func (c *confirmer) agree() {
	a := c.answer
	kept, missed := c.record.kept(a.Sustained)
	upTo := "no rate below was shown to keep the limits"
	switch {
	case kept > 0 && missed > 0:
		upTo = fmt.Sprintf("the system kept its limits at %.6g/s and not at %.6g/s", kept, missed)
	case kept > 0:
		upTo = fmt.Sprintf("the system kept its limits at every rate that was tried, up to %.6g/s", kept)
	case missed > 0:
		upTo = fmt.Sprintf("the system did not keep its limits at %.6g/s", missed)
	}
	switch a.Word {
	case AboveRange:
		if missed > 0 { // the long probes found an end
			a.Word, a.Low, a.High, a.Limiting = NotIdentified, orNaN(kept), missed, c.record.reason()
			c.answer.before("short probes of %.6g/s passed; %s", c.prober.Highest, upTo)
			break
		}
		c.answer.before("%s, next to the highest rate to try", upTo)
	case GeneratorLimited:
		c.answer.before("the generator could not carry %.6g/s%s; %s", c.prober.ceiling, because(c.prober.cause), upTo)
	case HostBusy:
		if c.prober.ceiling == 0 {
			c.answer.before("%s", upTo)
			break
		}
		c.answer.before("other work took the CPU that the generator needed for %.6g/s%s; %s", c.prober.ceiling, because(c.prober.cause), upTo)
	}
	switch {
	case a.Stall != nil && a.Word == NeverPassed:
		a.Word, a.Why = Stalls, a.Stall.String()
	case a.Stall != nil && a.Word != Stalls:
		c.answer.note("%s", a.Stall)
	}
}

func because(cause string) string {
	if cause == "" {
		return ""
	}
	return " (" + cause + ")"
}

func (a *Answer) before(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if a.Why != "" {
		text += "; " + a.Why
	}
	a.Why = text
}

func orNaN(rate float64) float64 {
	if rate > 0 {
		return rate
	}
	return math.NaN()
}

// kept is the highest rate that passed below every one that failed, and missed the
// lowest that failed; 0 where there is none. A rate that passed all confirmations
// counts as kept even where a shorter probe of less failed: the claim.
func (r *record) kept(claim float64) (kept, missed float64) {
	low := math.Inf(1)
	for _, t := range r.tried[r.base:] {
		if !t.Pass && !t.GeneratorLimited && t.Phase != Burst {
			low = math.Min(low, t.Probe.Rate)
		}
	}
	for _, t := range r.tried[r.base:] {
		if t.Pass && !t.GeneratorLimited && t.Probe.Rate < low {
			kept = math.Max(kept, t.Probe.Rate)
		}
	}
	if math.IsInf(low, 1) {
		low = 0
	}
	return math.Max(kept, claim), low
}
