package finding

import (
	"fmt"
	"strings"

	"plimsoll/internal/study"
)

// Attach makes the story of a closed loop part of the findings of its last run, and
// audits them anew. What the loop tried and rolled back is no longer recommended.
func (f *Findings) Attach(t *Tuning, published []study.Figure) {
	f.Tuning = t
	t.tell(f)
	present, refused := 0, []string(nil)
	for i := range t.Rounds {
		switch r := &t.Rounds[i]; r.Outcome {
		case Kept:
			present = 1
		case RolledBack:
			present = 0
			refused = append(refused, r.Recommendation.Rule)
		}
	}
	f.Recommendation = Recommend(f, present, refused)
	f.Audit = Audit(f, published)
}

// Tell writes the sentence of the story from its rounds.
func (t *Tuning) Tell() { t.tell(&Findings{Tuning: t}) }

func (t *Tuning) tell(f *Findings) {
	f.Tuning = t
	s := scene{names: map[string]string{"goal": t.Goal, "end": t.End}, text: newLedger(f).text}
	var parts []string
	for i := range t.Rounds {
		r := &t.Rounds[i]
		if r.Recommendation == nil {
			continue
		}
		number := fmt.Sprintf("round:%d", i+1)
		s.names["factor "+number] = r.Recommendation.Change.Factor
		part := fmt.Sprintf("{factor %s} was changed from {%s/from} to {%s/to} and %s", number, number, number, r.Outcome)
		if v := r.Verification; v != nil {
			s.names["metric "+number] = v.Metric.Name
			part += fmt.Sprintf(" ({metric %s} {%s/change} on {%s/blocks} fresh blocks", number, number, number)
			if r.Outcome == Kept {
				part += fmt.Sprintf(", at least {%s/bound}", number)
			}
			part += ")"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		parts = []string{"nothing was changed"}
	}
	t.Sentence, t.Numbers = s.compose(aim(t.Goal) + ", " + strings.Join(parts, "; ") + ". {end}.")
}

// aim is a goal at the beginning of a sentence: "To maximise iops".
func aim(goal string) string {
	if metric, found := strings.CutPrefix(goal, "most "); found {
		return "To maximise " + metric
	}
	if metric, found := strings.CutPrefix(goal, "least "); found {
		return "To minimise " + metric
	}
	return "For " + goal
}
