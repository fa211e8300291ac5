package doctor

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/cluster"
)

// oracle judges causes by the model and the hosts of VMs alone: it shares no code with
// layouts, placement and balancing.
type oracle struct {
	c  *cluster.Cluster
	at []cluster.HostID // by VM
}

func newOracle(c *cluster.Cluster) *oracle {
	o := &oracle{c, make([]cluster.HostID, len(c.VMs))}
	for v := range c.VMs {
		o.at[v] = c.VMs[v].Host
	}
	return o
}

func (o *oracle) clone() *oracle { return &oracle{o.c, slices.Clone(o.at)} }

func (o *oracle) vm(name string) int {
	return slices.IndexFunc(o.c.VMs, func(v cluster.VM) bool { return v.Name == name })
}

func (o *oracle) host(name string) cluster.HostID {
	return cluster.HostID(slices.IndexFunc(o.c.Hosts, func(h cluster.Host) bool { return h.Name == name }))
}

func (o *oracle) rule(name string) *cluster.Rule {
	i := slices.IndexFunc(o.c.Rules, func(r cluster.Rule) bool { return r.Name == name })
	if i < 0 || o.c.Rules[i].Disabled {
		return &cluster.Rule{}
	}
	return &o.c.Rules[i]
}

func has(r *cluster.Rule, v int) bool { return slices.Contains(r.VMs, cluster.VMID(v)) }

// on are the VMs of a host.
func (o *oracle) on(h cluster.HostID) (vms []int) {
	for v, at := range o.at {
		if at == h {
			vms = append(vms, v)
		}
	}
	return vms
}

func (o *oracle) reserved(h cluster.HostID) (cpu, memory int64) {
	for _, v := range o.on(h) {
		vm := &o.c.VMs[v]
		cpu, memory = cpu+vm.CPU.Reservation, memory+vm.Mem.Reservation+vm.Overhead
	}
	return cpu, memory
}

// load is that of a host, as shares of its capacity.
func (o *oracle) load(h cluster.HostID) (cpu, memory float64) {
	slowest := int64(math.MaxInt64)
	for i := range o.c.Hosts {
		slowest = min(slowest, o.c.Hosts[i].MHz)
	}
	for _, v := range o.on(h) {
		cpu += float64(o.c.VMs[v].CPUDemand(slowest))
		memory += float64(o.c.VMs[v].MemoryDemand(o.c.Settings.Consumed))
	}
	all := o.c.Hosts[h].Capacity()
	return cpu / float64(all.CPU), memory / float64(all.Memory)
}

// violates says whether a rule is violated by a VM where it runs.
func (o *oracle) violates(r *cluster.Rule, v int) bool {
	h := o.at[v]
	if h == cluster.Nowhere || !has(r, v) {
		return false
	}
	switch r.Kind {
	case cluster.OnHosts:
		return !slices.Contains(r.Hosts, h)
	case cluster.OffHosts:
		return slices.Contains(r.Hosts, h)
	}
	with, elsewhere := false, false
	for _, w := range r.VMs {
		if int(w) != v && o.at[w] != cluster.Nowhere {
			with, elsewhere = with || o.at[w] == h, elsewhere || o.at[w] != h
		}
	}
	if r.Kind == cluster.Apart {
		return with
	}
	return elsewhere && !with
}

// obstacle says whether a cause is true of a VM that runs nowhere and a host.
func (o *oracle) obstacle(v int, h cluster.HostID, cause *Cause) error {
	vm, host := &o.c.VMs[v], &o.c.Hosts[h]
	all := host.Capacity()
	cpu, memory := o.reserved(h)
	r, other := o.rule(cause.Rule), o.vm(cause.Other)
	lacks := func(names []string, need, have []int32) bool {
		i := int32(slices.Index(names, cause.Object))
		return slices.Contains(need, i) && !slices.Contains(have, i)
	}
	ok := false
	switch cause.Kind {
	case "state":
		ok = string(host.State) == cause.Object && host.State != cluster.Connected
	case "network":
		ok = lacks(o.c.Networks, vm.Networks, host.Networks)
	case "datastore":
		ok = lacks(o.c.Datastores, vm.Datastores, host.Datastores)
	case "cores":
		ok = cause.Need == int64(vm.VCPUs) && cause.Have == int64(host.Sockets*host.NodesPerSocket*host.CoresPerNode*host.ThreadsPerCore) && cause.Need > cause.Have
	case "host rule":
		ok = r.Must && has(r, v) && slices.Contains(r.Hosts, h) == (r.Kind == cluster.OffHosts) && (r.Kind == cluster.OnHosts || r.Kind == cluster.OffHosts)
	case "apart":
		ok = r.Must && r.Kind == cluster.Apart && has(r, v) && other != v && has(r, other) && o.at[other] == h && o.host(cause.At) == h
	case "together":
		ok = r.Must && r.Kind == cluster.Together && has(r, v) && other != v && has(r, other) && o.at[other] == o.host(cause.At) && o.at[other] != h
		ok = ok && !slices.ContainsFunc(r.VMs, func(w cluster.VMID) bool { return int(w) != v && o.at[w] == h })
	case "cpu reservation":
		ok = cause.Need == vm.CPU.Reservation && cause.Have == all.CPU-cpu && cause.Need > cause.Have
	case "memory reservation":
		ok = cause.Need == vm.Mem.Reservation+vm.Overhead && cause.Have == all.Memory-memory && cause.Need > cause.Have
	case "machines":
		ok = cause.Have == int64(host.MostVMs) && len(o.on(h)) >= host.MostVMs && host.MostVMs > 0
	}
	if !ok {
		return fmt.Errorf("%s and %s: %+v is false", vm.Name, host.Name, *cause)
	}
	return nil
}

// blocked verifies a cause against VMs that move to a host together, for the one that it
// concerns.
func (o *oracle) blocked(unit []int, of int, h cluster.HostID, cause *Cause) error {
	then := o.clone()
	for _, v := range unit {
		then.at[v] = cluster.Nowhere
	}
	who := of
	if cause.VM != "" {
		who = o.vm(cause.VM)
	}
	for _, v := range unit {
		if v == who {
			return then.obstacle(v, h, cause)
		}
		then.at[v] = h
	}
	return fmt.Errorf("%s does not move with %s", cause.VM, o.c.VMs[of].Name)
}

// free says whether nothing prevents VMs from running on a host together.
func (o *oracle) free(unit []int, h cluster.HostID) bool {
	then, host := o.clone(), &o.c.Hosts[h]
	for _, v := range unit {
		then.at[v] = h
	}
	all := host.Capacity()
	cpu, memory := then.reserved(h)
	if host.State != cluster.Connected || cpu > all.CPU || memory > all.Memory || host.MostVMs > 0 && len(then.on(h)) > host.MostVMs {
		return false
	}
	for _, v := range unit {
		vm := &o.c.VMs[v]
		for i := range o.c.Rules {
			if r := &o.c.Rules[i]; r.Must && !r.Disabled && then.violates(r, v) {
				return false
			}
		}
		within := func(need, have []int32) bool {
			return !slices.ContainsFunc(need, func(n int32) bool { return !slices.Contains(have, n) })
		}
		if !within(vm.Networks, host.Networks) || !within(vm.Datastores, host.Datastores) || vm.VCPUs > host.Cores()*host.ThreadsPerCore {
			return false
		}
	}
	return true
}

func (o *oracle) loadIs(h cluster.HostID, want *Load) error {
	cpu, memory := o.load(h)
	if want == nil || math.Abs(cpu-want.CPU) > 1e-9 || math.Abs(memory-want.Memory) > 1e-9 {
		return fmt.Errorf("the load of %s is %v and %v, not %+v", o.c.Hosts[h].Name, cpu, memory, want)
	}
	return nil
}

// contrast says whether the cause for which a host was not chosen is true. The VMs run on
// the chosen one.
func (o *oracle) contrast(unit []int, to, h cluster.HostID, cause *Cause) error {
	then := o.clone()
	for _, v := range unit {
		then.at[v] = h
	}
	if cause.Kind == SoftRule {
		r := o.rule(cause.Rule)
		if r.Must || !slices.ContainsFunc(unit, func(v int) bool { return then.violates(r, v) }) || slices.ContainsFunc(unit, func(v int) bool { return o.violates(r, v) }) {
			return fmt.Errorf("rule %s: on %s it is not violated, or on %s as well", cause.Rule, o.c.Hosts[h].Name, o.c.Hosts[to].Name)
		}
		return nil
	}
	if err := then.loadIs(h, cause.Load); err != nil {
		return err
	}
	if err := o.loadIs(to, cause.Chosen); err != nil {
		return err
	}
	there, chosen := max(cause.Load.CPU, cause.Load.Memory), max(cause.Chosen.CPU, cause.Chosen.Memory)
	if (cause.Kind == Fuller) != (there > chosen) || cause.Kind != Fuller && cause.Kind != NoFuller {
		return fmt.Errorf("%+v", *cause)
	}
	return nil
}
