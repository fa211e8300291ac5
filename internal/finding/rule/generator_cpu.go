package rule

import (
	"plimsoll/internal/finding"
)

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
		Check: func(c *Case, arm int) []finding.Explanation {
			if share, ok := c.generatorShare(arm); ok && share > generatorLimit {
				f := Found{Rule: name, Arm: arm, Grade: finding.AccountsFor, Evidence: []finding.Evidence{evidence("of its CPUs", share, "share")}}
				template := "The load generator is the bottleneck with {arm}: it used {of its CPUs} of its CPUs; the system under test may carry more."
				if rate, ok := c.Table.MeanOfAll(arm, c.Table.Rate); ok && rate > 0 {
					f.Evidence = append(f.Evidence, evidence("within its limit", generatorLimit, "share"), evidence("rate to offer", rate*generatorLimit/share, "1/s"))
					template += " Offer at most {rate to offer} ({within its limit} of its CPUs), or give it more threads or machines."
				}
				return []finding.Explanation{c.Explain(template, f)}
			}
			busy, ok := c.Table.Mean(arm, "cpu.busy")
			count, known := c.Table.Mean(arm, "cpu.count")
			if !ok || !known || count <= 0 || busy/count <= hostLimit {
				return nil
			}
			return []finding.Explanation{c.Explain("The host is out of CPU with {arm}: {of all CPUs} of its CPU time was used.", Found{
				Rule: name, Arm: arm, Grade: finding.AccountsFor, Evidence: []finding.Evidence{evidence("of all CPUs", busy/count, "share")},
			})}
		},
	}
}
