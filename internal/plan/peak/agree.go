package peak

import (
	"fmt"
	"math"
)

// agree completes the reasons of the answer from all probes, confirmations included,
// so that no sentence says more than they do.
func (w *walk) agree() bool {
	a := &w.answer
	kept, missed := w.kept()
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
			a.Word, a.Low, a.High, a.Limiting = NotIdentified, w.orNaN(kept), missed, w.reason()
			w.before("short probes of %.6g/s passed; %s", w.Highest, upTo)
			break
		}
		w.before("%s, next to the highest rate to try", upTo)
	case GeneratorLimited:
		w.before("the generator could not carry %.6g/s%s; %s", w.ceiling, because(w.cause), upTo)
	case HostBusy:
		if w.ceiling == 0 {
			w.before("%s", upTo)
			break
		}
		w.before("other work took the CPU that the generator needed for %.6g/s%s; %s", w.ceiling, because(w.cause), upTo)
	}
	switch {
	case a.Stall != nil && a.Word == NeverPassed:
		a.Word, a.Why = Stalls, a.Stall.String()
	case a.Stall != nil && a.Word != Stalls:
		w.note("%s", a.Stall)
	}
	return true
}

func because(cause string) string {
	if cause == "" {
		return ""
	}
	return " (" + cause + ")"
}

func (w *walk) before(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if w.answer.Why != "" {
		text += "; " + w.answer.Why
	}
	w.answer.Why = text
}

func (w *walk) orNaN(rate float64) float64 {
	if rate > 0 {
		return rate
	}
	return math.NaN()
}

// kept is the highest rate that passed below every one that failed, and missed the
// lowest that failed; 0 where there is none. A rate that passed all confirmations
// counts as kept even where a shorter probe of less failed.
func (w *walk) kept() (kept, missed float64) {
	low := math.Inf(1)
	for _, t := range w.tried[w.base:] {
		if !t.Pass && !t.GeneratorLimited && t.Phase != Burst {
			low = math.Min(low, t.Probe.Rate)
		}
	}
	for _, t := range w.tried[w.base:] {
		if t.Pass && !t.GeneratorLimited && t.Probe.Rate < low {
			kept = math.Max(kept, t.Probe.Rate)
		}
	}
	if math.IsInf(low, 1) {
		low = 0
	}
	return math.Max(kept, w.answer.Sustained), low
}
