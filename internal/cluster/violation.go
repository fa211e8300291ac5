package cluster

import "fmt"

// Violation is a hard constraint that a layout violates.
type Violation struct {
	Rule RuleID // Nowhere if it is not a rule
	Host HostID
	VMs  []VMID // that violate it, on the host; all of an overcommitted host
	Text string
}

// Violations are those of a layout, computed from the model alone, independent of the state
// that layouts keep: decisions are checked by separate code.
func Violations(c *Cluster, host func(VMID) HostID) []Violation {
	var out []Violation
	on := make([][]VMID, len(c.Hosts))
	for v := range c.VMs {
		if h := host(VMID(v)); h != Nowhere {
			on[h] = append(on[h], VMID(v))
		}
	}
	for h := range c.Hosts {
		out = append(out, hostViolations(c, HostID(h), on[h])...)
	}
	for r := range c.Rules {
		if rule := &c.Rules[r]; rule.Must && !rule.Disabled {
			out = append(out, RuleViolations(c, RuleID(r), host)...)
		}
	}
	return out
}

func hostViolations(c *Cluster, h HostID, vms []VMID) (out []Violation) {
	host := &c.Hosts[h]
	say := func(vms []VMID, format string, args ...any) {
		out = append(out, Violation{Nowhere, h, vms, fmt.Sprintf("host %s: ", host.Name) + fmt.Sprintf(format, args...)})
	}
	var sum Resources
	for _, v := range vms {
		vm := &c.VMs[v]
		sum = sum.Plus(vm.Reserved())
		if missing(vm.Networks, host.Networks) >= 0 || missing(vm.Datastores, host.Datastores) >= 0 {
			say([]VMID{v}, "it lacks a network or a datastore of %s", vm.Name)
		}
		if vm.VCPUs > host.Cores()*host.ThreadsPerCore {
			say([]VMID{v}, "%s has more vCPUs than it has threads", vm.Name)
		}
	}
	switch capacity := host.Capacity(); {
	case !host.Runs() && len(vms) > 0:
		if len(vms) == 1 {
			say(vms, "1 VM on a host that %s", host.State.Said())
		} else {
			say(vms, "%d VMs on a host that %s", len(vms), host.State.Said())
		}
	case !sum.Fits(capacity):
		say(vms, "%d MHz and %s are reserved, but the capacity is %d MHz and %s", sum.CPU, MiB(sum.Memory), capacity.CPU, MiB(capacity.Memory))
	case host.MostVMs > 0 && len(vms) > host.MostVMs:
		say(vms, "%d VMs, but at most %d may run there", len(vms), host.MostVMs)
	}
	return out
}

// RuleViolations are the violations of one rule, hard or soft.
func RuleViolations(c *Cluster, r RuleID, host func(VMID) HostID) (out []Violation) {
	rule := &c.Rules[r]
	first := map[HostID]VMID{}
	say := func(h HostID, vms []VMID, format string, args ...any) {
		out = append(out, Violation{r, h, vms, fmt.Sprintf("rule %s: ", rule.Name) + fmt.Sprintf(format, args...)})
	}
	for _, v := range rule.VMs {
		h := host(v)
		if h == Nowhere {
			continue
		}
		other, shared := first[h]
		named := containsHost(rule.Hosts, h)
		switch {
		case rule.Kind == Apart && shared:
			say(h, []VMID{other, v}, "%s and %s share the host %s", c.VMs[other].Name, c.VMs[v].Name, c.Hosts[h].Name)
		case rule.Kind == Together && !shared && len(first) > 0:
			say(h, []VMID{v}, "%s runs on %s, others elsewhere", c.VMs[v].Name, c.Hosts[h].Name)
		case rule.Kind == OnHosts && !named, rule.Kind == OffHosts && named:
			say(h, []VMID{v}, "%s runs on %s", c.VMs[v].Name, c.Hosts[h].Name)
		}
		if !shared {
			first[h] = v
		}
	}
	return out
}
