package certificate

import (
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/quantity"
)

// stolen reports whether the estimates are adjusted for CPU time that the hypervisor gave to others. Where that hardly varies there is no
// line.
func (c *checks) stolen() []measure.Check {
	var adjusted, unbalanced []string
	for i := range c.headlines {
		h := &c.headlines[i]
		if h.Covariate == nil {
			continue
		}
		name := h.Metric.Name
		if c.table.Arms > 2 {
			name += " with " + c.table.Label(h.Arm)
		}
		if h.Covariate.Unbalanced {
			unbalanced = append(unbalanced, name)
		} else {
			adjusted = append(adjusted, name+" "+quantity.Percent(h.Covariate.Slope/100)+" for each percent of it")
		}
	}
	check := measure.Check{Name: "stolen CPU time", State: measure.Pass}
	var parts []string
	if adjusted != nil {
		parts = append(parts, "estimates are adjusted for the CPU time that the hypervisor gave to others: "+strings.Join(first(adjusted), ", "))
	}
	if unbalanced != nil {
		check.State = measure.Unknown
		parts = append(parts, "estimates are not adjusted for the CPU time that the hypervisor gave to others, because the arms differ in it or in the CPU time wanted: "+strings.Join(first(unbalanced), ", "))
	}
	if parts == nil {
		return nil
	}
	check.Detail = strings.Join(parts, "; ")
	return []measure.Check{check}
}
