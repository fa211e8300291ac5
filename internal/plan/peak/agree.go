package peak

import (
	"fmt"
	"math"
)

// agree makes the explanation of the answer consistent with all probes, confirmations
// included.
func (c *confirmer) agree() {
	a := c.answer
	kept, missed := c.record.kept(a.Sustained)
	upTo := "no lower rate was shown to meet the limits"
	switch {
	case kept > 0 && missed > 0:
		upTo = fmt.Sprintf("the system met its limits at %.6g/s and missed them at %.6g/s", kept, missed)
	case kept > 0:
		upTo = fmt.Sprintf("the system met its limits at every rate tried, up to %.6g/s", kept)
	case missed > 0:
		upTo = fmt.Sprintf("the system missed its limits at %.6g/s", missed)
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
		c.answer.before("other processes took the CPU that the generator needed for %.6g/s%s; %s", c.prober.ceiling, because(c.prober.cause), upTo)
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

// kept is the highest passing rate below every failed one, and missed the lowest failed one; 0
// if there is none. A rate that passed all confirmations counts as kept even if a shorter
// probe at a lower rate failed.
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
