package doctor

import (
	"fmt"
	"strings"

	"plimsoll/internal/cluster"
)

// Warning is something in how a cluster is set up that surprises operators.
type Warning struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// warnings looks at the settings, the pools and the rules.
func warnings(c *cluster.Cluster) []Warning {
	var out []Warning
	if c.Settings.Level <= 1 {
		out = append(out, Warning{"level", "the level is 1: nothing is moved for the load. Level 3 moves only where machines would run better"})
	}
	if !c.Settings.CostBenefit {
		out = append(out, Warning{"cost-benefit", "moves are made whatever they cost: machines may move all the time. Set cost-benefit to true"})
	}
	out = append(out, rivals(c)...)
	out = append(out, pies(c)...)
	return append(out, unsatisfiable(c)...)
}

// rivals finds machines beside pools: each of them competes with a whole pool.
func rivals(c *cluster.Cluster) (out []Warning) {
	pools, machines := make([]int, len(c.Pools)), make([]int, len(c.Pools))
	for i := range c.Pools {
		if p := c.Pools[i].Parent; p != cluster.Nowhere {
			pools[p]++
		}
	}
	for i := range c.VMs {
		machines[c.VMs[i].Pool]++
	}
	for i := range c.Pools {
		if pools[i] > 0 && machines[i] > 0 {
			out = append(out, Warning{"sibling rivalry", fmt.Sprintf(
				"pool %s holds %d machines beside %d pools: under pressure each machine gets as much as its shares are of a whole pool's. Put the machines into a pool of their own",
				c.Pools[i].Name, machines[i], pools[i])})
		}
	}
	return out
}

// pies finds pools whose machines get less than those of a sibling of a lower level,
// because there are more of them.
func pies(c *cluster.Cluster) (out []Warning) {
	machines := make([]int64, len(c.Pools))
	for i := range c.VMs {
		for p := c.VMs[i].Pool; p != cluster.Nowhere; p = c.Pools[p].Parent {
			machines[p]++
		}
	}
	for i := range c.Pools {
		for j := range c.Pools {
			a, b := &c.Pools[i], &c.Pools[j]
			if a.Parent != b.Parent || a.Parent == cluster.Nowhere || machines[i] == 0 || machines[j] == 0 || a.Scalable || c.Settings.ScalablePool {
				continue
			}
			if a.CPU.Shares > b.CPU.Shares && a.CPU.Shares*machines[j] < b.CPU.Shares*machines[i] {
				out = append(out, Warning{"priority pie", fmt.Sprintf(
					"pool %s has more shares than %s, and under pressure each of its %d machines gets %.2g times what one of the %d in %s does. Turn on scalable shares",
					a.Name, b.Name, machines[i], float64(a.CPU.Shares*machines[j])/float64(b.CPU.Shares*machines[i]), machines[j], b.Name)})
			}
		}
	}
	return out
}

// unsatisfiable finds rules that cannot hold with the hosts there are.
func unsatisfiable(c *cluster.Cluster) (out []Warning) {
	usable := 0
	for h := range c.Hosts {
		if c.Hosts[h].Usable() {
			usable++
		}
	}
	for i := range c.Rules {
		r := &c.Rules[i]
		if r.Kind == cluster.Apart && !r.Disabled && len(r.VMs) > usable {
			out = append(out, Warning{"rule", fmt.Sprintf("rule %s keeps %d machines apart, and %d hosts can be used: %d of them must share", r.Name, len(r.VMs), usable, len(r.VMs)-usable)})
		}
		if r.Kind == cluster.OnHosts && !r.Disabled && r.Must {
			var gone []string
			for _, h := range r.Hosts {
				if !c.Hosts[h].Usable() {
					gone = append(gone, c.Hosts[h].Name)
				}
			}
			if len(gone) == len(r.Hosts) {
				out = append(out, Warning{"rule", fmt.Sprintf("rule %s allows %s only, and none of them can be used", r.Name, strings.Join(gone, ", "))})
			}
		}
	}
	return out
}
