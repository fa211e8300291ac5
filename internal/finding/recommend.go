package finding

import "slices"

// Recommend names one change to try: that of the first rule, in the order of
// Rules, which asks for one in the arm and is not among the refused. Nil when none
// does.
func Recommend(f *Findings, arm int, refused []string) *Recommendation {
	for i := range f.Explanations {
		e := &f.Explanations[i]
		if e.Arm != arm || e.Change == nil || slices.Contains(refused, e.Rule) {
			continue
		}
		r := &Recommendation{Rule: e.Rule, Arm: arm, Change: *e.Change, Predicted: e.Gain}
		s := scene{
			names:  map[string]string{"factor": e.Change.Factor, "arm": f.label(arm)},
			prefix: "rule:" + place(e.Rule, arm),
			text:   newLedger(f).text,
		}
		template := "Change {factor} from {from} to {to}"
		if e.Gain != nil {
			names := "{gain:" + place(e.Rule, arm) + "/low} and {gain:" + place(e.Rule, arm) + "/high}"
			template += "; expected before it is tried: between " + names + " ({basis})"
			s.names["basis"] = e.Gain.Basis
		}
		r.Sentence, r.Numbers = s.compose(template + ". Only fresh blocks can confirm it.")
		return r
	}
	return nil
}
