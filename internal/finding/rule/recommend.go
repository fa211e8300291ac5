package rule

import (
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/sentence"
)

// Recommend returns one change to try: of the first rule with a change for the arm that is not
// refused. Nil if there is none.
func Recommend(f *finding.Findings, arm int, refused []string) *finding.Recommendation {
	for i := range f.Explanations {
		e := &f.Explanations[i]
		if e.Arm != arm || e.Change == nil || slices.Contains(refused, e.Rule) {
			continue
		}
		r := &finding.Recommendation{Rule: e.Rule, Arm: arm, Change: *e.Change, Predicted: e.Gain}
		s := sentence.Scene{
			Names:  map[string]string{"factor": e.Change.Factor},
			Prefix: "rule:" + finding.Key(e.Rule, arm),
			Number: finding.NewLedger(f).Number,
		}
		template := "Change {factor} from {from} to {to}"
		if e.Gain != nil {
			names := "{gain:" + finding.Key(e.Rule, arm) + "/low} and {gain:" + finding.Key(e.Rule, arm) + "/high}"
			template += "; predicted change: between " + names + " ({basis})"
			s.Names["basis"] = e.Gain.Basis
		}
		r.Sentence = s.Compose(template + ". Only fresh blocks can confirm it.")
		return r
	}
	return nil
}
