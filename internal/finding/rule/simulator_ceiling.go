package rule

const ceilingShare = "ceiling.share"

// simulatorCeiling compares the rate with the capacity of a simulated target.
var simulatorCeiling = Rule{
	Name:  "simulator_ceiling",
	Doc:   "capacity of a simulated target and its client without modelled times, and the utilisation by the load",
	About: ceilingShare,
	Check: func(c *Case, arm int) *Found {
		const doubtful = 0.5 // share above which the rate may be limited by the simulator
		ceiling, ok := c.Table.Mean(arm, "ceiling.operations")
		share, known := c.Table.Mean(arm, ceilingShare)
		if !ok || !known {
			return nil
		}
		f := accounts("Without modelled times, the capacity of the simulator and its client is {ceiling} with {arm}; the load was {share of it} of that.",
			evidence("ceiling", ceiling, "1/s"), evidence("share of it", share, "share"))
		if share > doubtful {
			f.Says += " The simulator, rather than the modelled times, may limit the rate."
		}
		return f
	},
}
