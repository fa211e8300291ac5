package certificate

import (
	"fmt"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
)

// outliersAlpha is the error of the test that arms have different numbers of outlying trials,
// over all headlines and arms.
const outliersAlpha = 0.05

// outliers compares the numbers of outlying trials, which have no weight in the estimates,
// between arms. If one arm has more of them, the factor may be the cause, which the estimate
// does not show. Without outliers there is no line.
func (c *checks) outliers() []measure.Check {
	var all, apart []string
	for i := range c.headlines {
		h := &c.headlines[i]
		if h.Far == nil {
			continue
		}
		text := fmt.Sprintf("%s: %d of %d with %s and %d of %d with %s", h.Metric.Name, h.Far.Baseline, h.Blocks, c.table.Label(0), h.Far.Arm, h.Blocks, c.table.Label(h.Arm))
		all = append(all, text)
		if stat.Fisher(h.Far.Baseline, h.Blocks-h.Far.Baseline, h.Far.Arm, h.Blocks-h.Far.Arm) <= outliersAlpha/float64(len(c.headlines)) {
			apart = append(apart, text)
		}
	}
	check := measure.Check{Name: "outlying trials", State: measure.Pass}
	switch {
	case len(all) == 0:
		return nil
	case len(apart) > 0:
		check.State = measure.Fail
		check.Detail = strings.Join(first(apart), "; ") + ". They have no weight in the estimate, but the factor may cause them: see the individual runs"
	default:
		check.Detail = strings.Join(first(all), "; ") + ": no significant difference between arms; they have no weight in the estimate"
	}
	return []measure.Check{check}
}

// first shortens a list to as many entries as a line of the certificate names.
func first(all []string) []string {
	if len(all) > mostOrders {
		return append(all[:mostOrders:mostOrders], fmt.Sprintf("and %d more", len(all)-mostOrders))
	}
	return all
}
