package rule

const (
	generatorLimit = 0.80 // utilisation above which a generator delays its own operations
	hostLimit      = 0.95 // CPU utilisation above which the host is saturated
)

// generatorCPU finds a saturated load generator or host.
var generatorCPU = Rule{
	Name:  "generator_cpu",
	Doc:   "the CPU of the load generator, or of its host, was the bottleneck and not the system under test",
	Needs: []string{"generator.cpu|cpu.busy"},
	Check: func(c *Case, arm int) *Found {
		if share, ok := c.generatorShare(arm); ok && share > generatorLimit {
			f := accounts("The load generator is the bottleneck with {arm}: it used {of its CPUs} of its CPUs; the system under test may carry more.", evidence("of its CPUs", share, "share"))
			if rate, ok := c.Table.MeanOfAll(arm, c.Table.Rate); ok && rate > 0 {
				f.Evidence = append(f.Evidence, evidence("within its limit", generatorLimit, "share"), evidence("rate to offer", rate*generatorLimit/share, "1/s"))
				f.Says += " Offer at most {rate to offer} ({within its limit} of its CPUs), or give it more threads or machines."
			}
			return f
		}
		if len(c.Table.Hosts) > 0 { // cpu_saturated names the programs
			return nil
		}
		busy, ok := c.Table.Mean(arm, "cpu.busy")
		count, known := c.Table.Mean(arm, "cpu.count")
		if !ok || !known || count <= 0 || busy/count <= hostLimit || c.Table.Clocked {
			return nil
		}
		return accounts("The host is out of CPU with {arm}: {of all CPUs} of its CPU time was used.", evidence("of all CPUs", busy/count, "share"))
	},
}
