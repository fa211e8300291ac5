package doctor

import (
	"fmt"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
)

// why is the cause of a move.
func why(c *cluster.Cluster, m balance.Move) string {
	from := ""
	if m.From != cluster.Nowhere {
		from = c.Hosts[m.From].Name
	}
	switch m.Reason {
	case balance.HostFailed:
		return from + " has failed"
	case balance.HostMaintenance:
		return fmt.Sprintf("%s is in %s and must be empty", from, c.Hosts[m.From].State)
	case balance.MustRule:
		return "the rule " + c.Rules[m.Rule].Name + " must hold"
	case balance.ShouldRule:
		return "the rule " + c.Rules[m.Rule].Name + " should hold"
	case balance.Reservation:
		return "more is reserved on " + from + " than it has"
	case balance.MakeRoom:
		return "it makes room for the machine after it"
	case balance.FairMemory:
		return fmt.Sprintf("%s is %s full by memory", from, percent(m.FromBefore))
	}
	return fmt.Sprintf("%s is %s full", from, percent(m.FromBefore))
}

// effect is what a move does to both hosts.
func effect(c *cluster.Cluster, m balance.Move) string {
	to := fmt.Sprintf("%s %s -> %s", c.Hosts[m.To].Name, percent(m.ToBefore), percent(m.ToAfter))
	if m.From == cluster.Nowhere || m.Reason == balance.HostFailed {
		return to
	}
	return fmt.Sprintf("%s %s -> %s, %s", c.Hosts[m.From].Name, percent(m.FromBefore), percent(m.FromAfter), to)
}

// evidence is what a move rests on: what was seen of the machine.
func evidence(c *cluster.Cluster, x *cluster.Index, m balance.Move) string {
	vm, asks, needs := &c.VMs[m.VM], x.Demand(m.VM), x.Reserved(m.VM)
	b := &strings.Builder{}
	fmt.Fprintf(b, "%s asks for %d MHz and %s", vm.Name, asks.CPU, cluster.MiB(asks.Memory))
	switch d := &vm.Demand.CPU; {
	case d.Count == 0:
		b.WriteString(", half of its size, as nothing was seen of it")
	case d.Count > 1:
		fmt.Fprintf(b, " (in %d samples %.0f MHz on average, at most %.0f)", d.Count, d.Mean, d.Max)
	}
	if needs != (cluster.Resources{}) {
		fmt.Fprintf(b, ", has %d MHz and %s reserved", needs.CPU, cluster.MiB(needs.Memory))
	}
	if vm.Demand.Dirty > 0 {
		fmt.Fprintf(b, ", writes to %s of its memory each second", cluster.MiB(vm.Demand.Dirty))
	}
	return b.String()
}

func strandedText(c *cluster.Cluster, s balance.Stranded) string {
	what := map[balance.Reason]string{
		balance.HostFailed: "cannot start again", balance.HostMaintenance: "cannot leave its host", balance.MustRule: "cannot follow its rule",
		balance.Reservation: "cannot make way for what is reserved",
	}[s.Reason]
	return fmt.Sprintf("%s %s: no host can have it (plimsoll cluster why-not %s HOST says why)", c.VMs[s.VM].Name, what, c.VMs[s.VM].Name)
}

// percent is a load in millionths for people.
func percent(millionths int64) string { return fmt.Sprintf("%.0f %%", float64(millionths)/10_000) }

// worst is the load of the resource that is fuller, as a share.
func worst(demand, all cluster.Resources) float64 {
	return max(share(demand.CPU, all.CPU), share(demand.Memory, all.Memory))
}

// loadText is the load of the resource that is fuller.
func loadText(demand, all cluster.Resources) string {
	name := "CPU"
	if share(demand.Memory, all.Memory) > share(demand.CPU, all.CPU) {
		name = "memory"
	}
	return fmt.Sprintf("%.0f %% (%s)", 100*worst(demand, all), name)
}
