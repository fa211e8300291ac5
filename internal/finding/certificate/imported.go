package certificate

import (
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
)

// Imported is the certificate of results of another tool: what it checked itself, and what cannot be known.
func Imported(t *table.Table) []measure.Check {
	c := &checks{table: t}
	all := append(trialChecks(t), c.voids())
	if t.Arms > 1 {
		all = append(all, measure.Check{
			Name: "order randomised", State: measure.Fail,
			Detail: "the runs were not interleaved in random order: weaker evidence, not a verification",
		})
	}
	return append(all, c.quantiles(), c.noiseFloor())
}
