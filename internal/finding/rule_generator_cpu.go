package finding

import "plimsoll/internal/measure"

const (
	generatorLimit = 0.80 // share of its CPUs beyond which a generator delays what it measures
	hostLimit      = 0.95 // share of all CPUs beyond which the host has none left
)

// generatorCPU finds a load generator, or a host, without CPU to spare.
func generatorCPU() Rule {
	const name = "generator_cpu"
	return Rule{
		Name:  name,
		Doc:   "the CPU of the load generator, or of its host, was the limit and not the system under test",
		Needs: []string{"generator.cpu|cpu.busy"},
		Check: func(c *Case, arm int) []Explanation {
			if share, ok := c.generatorShare(arm); ok && share > generatorLimit {
				return []Explanation{c.Explain("The generator is the limit with {arm}: it used {of its CPUs} of the CPU it may use, so that the system under test may carry more than was seen.", Found{
					Rule: name, Arm: arm, Grade: AccountsFor, Evidence: []Evidence{{"of its CPUs", share, "share"}},
				})}
			}
			busy, ok := c.Mean(arm, "cpu.busy")
			count, known := c.Mean(arm, "cpu.count")
			if !ok || !known || count <= 0 || busy/count <= hostLimit {
				return nil
			}
			return []Explanation{c.Explain("The host has no CPU left with {arm}: {of all CPUs} of it was at work.", Found{
				Rule: name, Arm: arm, Grade: AccountsFor, Evidence: []Evidence{{"of all CPUs", busy / count, "share"}},
			})}
		},
	}
}

func generatorShareOf(r *measure.Record) (float64, bool) { return raw(r, "generator.cpu") }
