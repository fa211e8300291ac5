package certificate

import (
	"fmt"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/quantity"
)

// stolen tells what CPU time that the hypervisor gave to others does to the estimates; nothing where it hardly varies. It should be no
// effect of an arm: one that wants more CPU time of a hypervisor with a limit loses more.
func (c *checks) stolen() []measure.Check {
	var adjusted, uneven []string
	for i := range c.headlines {
		h := &c.headlines[i]
		if h.Covariate == nil {
			continue
		}
		name := h.Metric.Name
		if c.table.Arms > 2 {
			name += " with " + c.table.Label(h.Arm)
		}
		if h.Covariate.Uneven {
			uneven = append(uneven, name)
		} else {
			adjusted = append(adjusted, name+" "+quantity.Percent(h.Covariate.Slope/100))
		}
	}
	check := measure.Check{Name: "stolen CPU time", State: measure.Pass}
	var parts []string
	if adjusted != nil {
		parts = append(parts, "estimates are adjusted for the CPU time that the hypervisor gave to others, for each percent of it: "+several(adjusted))
	}
	if uneven != nil {
		check.State = measure.Unknown
		parts = append(parts, "the arms differ in the CPU time that they want, or that the hypervisor gave to others, so that estimates are not adjusted for it: "+several(uneven))
	}
	if parts == nil {
		return nil
	}
	check.Detail = strings.Join(parts, "; ")
	return []measure.Check{check}
}

// several names the first of a list.
func several(all []string) string {
	if len(all) > mostOrders {
		all = append(all[:mostOrders:mostOrders], fmt.Sprintf("and %d more", len(all)-mostOrders))
	}
	return strings.Join(all, ", ")
}
