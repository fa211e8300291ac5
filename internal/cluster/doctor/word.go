package doctor

import (
	"fmt"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
)

// effect is the effect of a move on both hosts.
func effect(c *cluster.Cluster, m advice.Move) string {
	to := fmt.Sprintf("%s %s -> %s", c.Hosts[m.To].Name, percent(m.ToBefore), percent(m.ToAfter))
	if m.From == cluster.Nowhere || m.Reason == advice.HostFailed {
		return to
	}
	return fmt.Sprintf("%s %s -> %s, %s", c.Hosts[m.From].Name, percent(m.FromBefore), percent(m.FromAfter), to)
}

// evidence is the observed demand behind a move.
func evidence(c *cluster.Cluster, x *cluster.Index, m advice.Move) string {
	vm, asks, needs := &c.VMs[m.VM], x.Demand(m.VM), x.Reserved(m.VM)
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s demands %d MHz and %s", vm.Name, asks.CPU, cluster.MiB(asks.Memory))
	switch d := &vm.Demand.CPU; {
	case d.Count == 0:
		b.WriteString(" (CPU assumed: no samples)")
	case d.Count > 1:
		fmt.Fprintf(b, " (%d samples: mean %.0f MHz, maximum %.0f)", d.Count, d.Mean, d.Max)
	}
	if needs != (cluster.Resources{}) {
		fmt.Fprintf(b, ", reserves %d MHz and %s", needs.CPU, cluster.MiB(needs.Memory))
	}
	if vm.Demand.Dirty > 0 {
		fmt.Fprintf(b, ", dirties %s of memory per second", cluster.MiB(vm.Demand.Dirty))
	}
	return b.String()
}

// percent is a load in millionths as text.
func percent(millionths int64) string { return fmt.Sprintf("%.0f %%", float64(millionths)/10_000) }
