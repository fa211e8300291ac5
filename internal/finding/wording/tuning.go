package wording

import (
	"fmt"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/sentence"
)

// Tell sets the summary of a tuning.
func Tell(t *finding.Tuning) {
	s := sentence.Scene{Names: map[string]string{"goal": t.Goal, "end": t.End}, Number: finding.NewLedger(&finding.Findings{Tuning: t}).Number}
	var parts []string
	for i := range t.Rounds {
		r := &t.Rounds[i]
		if r.Recommendation == nil {
			continue
		}
		number := fmt.Sprintf("round:%d", i+1)
		s.Names["factor "+number] = r.Recommendation.Change.Factor
		part := fmt.Sprintf("{factor %s} was changed from {%s/from} to {%s/to} and %s", number, number, number, r.Outcome)
		if v := r.Verification; v != nil {
			s.Names["metric "+number] = v.Metric.Name
			part += fmt.Sprintf(" ({metric %s} {%s/change} on {%s/blocks} fresh blocks", number, number, number)
			if r.Outcome == finding.Kept {
				part += fmt.Sprintf(", at least {%s/bound}", number)
			}
			part += ")"
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		parts = []string{"nothing was changed"}
	}
	t.Sentence = s.Compose("To " + t.Aim() + ", " + strings.Join(parts, "; ") + ". {end}.")
}
