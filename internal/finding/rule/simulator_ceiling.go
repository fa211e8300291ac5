package rule

const ceilingShare = "ceiling.share"

// simulatorCeiling puts the ceiling of a simulated target beside the result.
var simulatorCeiling = Rule{
	Name:  "simulator_ceiling",
	Doc:   "what a simulated target and its client carry without modelled times, and how much of it the load was",
	About: ceilingShare,
	Check: func(c *Case, arm int) *Found {
		const doubtful = 0.5 // share from which on the rate may be the simulator's own
		ceiling, ok := c.Table.Mean(arm, "ceiling.operations")
		share, known := c.Table.Mean(arm, ceilingShare)
		if !ok || !known {
			return nil
		}
		f := accounts("Without modelled times, the simulator and its client carry {ceiling} with {arm}; the load was {share of it} of that.",
			evidence("ceiling", ceiling, "1/s"), evidence("share of it", share, "share"))
		if share > doubtful {
			f.Says += " The rate may be that of the simulator, and not of the modelled times."
		}
		return f
	},
}
