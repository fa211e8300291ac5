package table

import (
	"cmp"
	"slices"

	"plimsoll/internal/finding"
)

// Faults counts the failed operations of each arm by their faults, those of void trials too.
func (t *Table) Faults() (all []finding.Fault) {
	type key struct {
		arm  int
		name string
	}
	at := map[key]*finding.Fault{}
	for i := range t.Records {
		r := &t.Records[i]
		for name, n := range r.Faults {
			k := key{r.Arm, name}
			if at[k] == nil {
				at[k] = &finding.Fault{Arm: r.Arm, Name: name}
			}
			at[k].Count += n
			at[k].Trials++
		}
	}
	for _, f := range at {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b finding.Fault) int {
		return cmp.Or(cmp.Compare(a.Arm, b.Arm), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return all
}
