package file

import (
	"fmt"
	"time"

	"plimsoll/internal/document"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/study/timing"
	"plimsoll/internal/workload"
)

func (tr tuneReader) tune(e entry, s *study.Study, kind *workload.Kind) *study.Tune {
	if s.Goal == nil {
		tr.r.in.Complain(e.key, "tune needs a goal: add one to the study, such as goal: {most: METRIC}")
	}
	t := new(study.Tune)
	given, rest := timing.Tuning(), document.Node{Kind: document.Mapping}
	for name, k := range tr.r.table(e.value, "tune", append(parameter.Names(parameter.Fields(given)), timing.Candidates)) {
		if name == timing.Candidates {
			t.Candidates = tr.candidates(k.value, s, kind)
			t.RulesOnly = k.value.Kind == document.Mapping && len(k.value.Kids) == 0
		} else {
			rest.Kids = append(rest.Kids, *k.key, *k.value)
		}
	}
	_ = parameter.Decode(given, tr.r.settings(&rest, "tune", given)) // each value was checked
	t.Unsafe, t.Changes, t.Time = given.Allow == timing.AllowUnsafe, given.Changes, time.Duration(given.Time)
	return t
}

// candidates parses the settings to try.
func (tr tuneReader) candidates(n *document.Node, s *study.Study, kind *workload.Kind) (all []study.Factor) {
	fr := factorReader(tr)
	for _, c := range tr.r.entries(n, "tune.candidates") {
		f, accept, ok := fr.factor(c.key, s, kind)
		if ok && (f.Group != "" || f.Name == study.Label || f.Name == study.MachinesFactor) {
			tr.r.in.Complain(c.key, "tune.candidates: %s cannot be tuned: name a setting of the workload, the service or the machine", f.FullName())
			continue
		}
		if ok {
			if f.Levels, ok = fr.levels(c, f.FullName(), accept, candidatePlace); ok {
				all = append(all, f)
			}
		}
	}
	return all
}

func candidatePlace(factor string, i int) string {
	return fmt.Sprintf("tune.candidates.%s[%d]", factor, i)
}
