package study

import (
	"fmt"
	"time"

	"plimsoll/internal/document"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study/timing"
	"plimsoll/internal/workload"
)

// Tune is what tune may change, and for how long.
type Tune struct {
	// Candidates are settings with the levels to try, in order; empty for those of the catalog.
	Candidates []Factor      `json:"candidates,omitempty"`
	RulesOnly  bool          `json:"rulesOnly,omitempty"` // candidates: {}
	Unsafe     bool          `json:"unsafe,omitempty"`    // levels that can lose data or weaken security are tried too
	Changes    int           `json:"changes,omitempty"`   // largest number of changes to try; 0 is the default
	Time       time.Duration `json:"time,omitempty"`      // budget; 0 is none
}

func (tr tuneReader) tune(e entry, s *Study, kind *workload.Kind) *Tune {
	if s.Goal == nil {
		tr.r.in.Complain(e.key, "tune needs a goal: add one to the study, such as goal: {most: METRIC}")
	}
	t := new(Tune)
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
func (tr tuneReader) candidates(n *document.Node, s *Study, kind *workload.Kind) (all []Factor) {
	fr := factorReader(tr)
	for _, c := range tr.r.entries(n, "tune.candidates") {
		f, accept, ok := fr.factor(c.key, s, kind)
		if ok && (f.Group != "" || f.Name == Label || f.Name == MachinesFactor) {
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

// settings are the candidates that are parameters of the workload or the service.
func (t *Tune) settings() (all []Factor) {
	for i := 0; t != nil && i < len(t.Candidates); i++ {
		if t.Candidates[i].Parameter != "" {
			all = append(all, t.Candidates[i])
		}
	}
	return all
}
