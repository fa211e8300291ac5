package snapshot

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot/entry"
	"plimsoll/internal/cluster/snapshot/unit"
	"plimsoll/internal/document"
)

var vmKeys = []string{
	"name", "like", "count", "host", "pool", "vcpus", "memory", "cores-per-socket", "cpu-hot-add", "overhead", "shares", "reservation", "limit",
	"demand", "networks", "datastores", "policy", "pinned", "tied", "waiting",
}

const mostVCPUs = 1024

func (r *reader) allVMs(root *document.Node) {
	kind := r.kind("vm", root, vmKeys)
	items := r.in.Each(root.Find("vms"), "vms")
	judged := r.in.Count() == 0 && !counted(root) // host numbers are valid
	room := r.room()
	for item := range items {
		f, named := kind.Open(r.in, item)
		v := r.vm(&f)
		count, given := f.Count(r.most.vms)
		if len(r.c.VMs)+count > r.most.vms {
			r.in.Complain(f.At, "a cluster has at most %d VMs", r.most.vms)
			return
		}
		r.add("the memory of all VMs", f.At, v.Memory+v.Overhead+v.Mem.Reservation, count)
		r.add("the reservations of all VMs", f.At, v.CPU.Reservation, count)
		if judged {
			fits(&f, &v, room)
		}
		hosts := r.hostsOf(&f, given)
		for k := 0; k < count && named; k++ {
			v.Host = cluster.Nowhere
			if hosts != nil {
				v.Host = cluster.HostID(hosts[k%len(hosts)])
			}
			if at, fresh := r.vms.Enter(&f, numbered(f.Name, k, count, given)); fresh {
				v.Name = r.vms.List[at]
				v.Networks, v.Datastores = slices.Clone(v.Networks), slices.Clone(v.Datastores)
				r.c.VMs = append(r.c.VMs, v)
			}
		}
	}
}

// vm reads an entry except its name and host.
func (r *reader) vm(f *entry.Entry) cluster.VM {
	v := cluster.VM{
		VCPUs:          f.Number("vcpus", entry.Required, 1, mostVCPUs),
		CoresPerSocket: f.Number("cores-per-socket", 0, 0, mostVCPUs),
		HotAdd:         f.Flag("cpu-hot-add", false),
		Memory:         f.Quantity("memory", unit.Size, entry.Required),
		Overhead:       f.Quantity("overhead", unit.Size, 0),
		Networks:       r.networks.Indexes(f, "networks"),
		Datastores:     r.stores.Indexes(f, "datastores"),
		Tied:           f.Flag("tied", false),
		Waiting:        f.Flag("waiting", false),
	}
	v.Pinned = f.Flag("pinned", false) || v.Tied
	if v.CoresPerSocket > v.VCPUs {
		f.Complain(f.Get("cores-per-socket"), "%d cores per socket are more than its %d vCPUs", v.CoresPerSocket, v.VCPUs)
	}
	if n := f.Get("policy"); n != nil {
		v.Policy, _ = entry.ReadName(r.in, n, "policy")
		v.Policy = r.texts.Keep(v.Policy)
	}
	if n := f.Get("pool"); n != nil {
		id, known := r.pools.Find(n.Text)
		if !known {
			f.Unknown(n, "unknown pool", r.pools.List)
		}
		v.Pool = cluster.PoolID(id)
	}
	if v.Waiting && f.Get("host") != nil {
		f.Complain(f.Get("waiting"), "a waiting VM cannot have a host")
	}
	whole := cluster.Resources{CPU: int64(v.VCPUs) * r.core, Memory: v.Memory}
	g := readShares(f, func(l cluster.ShareLevel) (int64, int64) { return cluster.VMShares(l, v.VCPUs, v.Memory) })
	v.CPU, v.Mem = allocation(f, g, whole)
	if v.Mem.Reservation > v.Memory {
		f.Complain(f.Get("reservation"), "%s of memory are reserved, but it has only %s", unit.Size.Whole(v.Mem.Reservation), unit.Size.Whole(v.Memory))
	}
	v.Demand = demand(f, whole)
	return v
}

// demand reads the observed demand of a VM.
func demand(f *entry.Entry, whole cluster.Resources) (d cluster.Demand) {
	in, given := f.Inner("demand", []string{"cpu", "active", "consumed", "dirty", "link"})
	if !given {
		return d
	}
	d.CPU = course(&in, "cpu", unit.Frequency, whole.CPU)
	d.Active = course(&in, "active", unit.Size, whole.Memory)
	if n := in.Get("consumed"); n != nil {
		d.Consumed = in.Amount(n, "consumed", unit.Size, whole.Memory)
	}
	d.Dirty = in.Quantity("dirty", unit.DirtyRate, 0)
	d.Link = in.Quantity("link", unit.Bandwidth, 0)
	return d
}

// course reads one amount: a constant demand, or statistics of samples.
func course(f *entry.Entry, key string, q *unit.Kind, whole int64) (c cluster.DemandStatistics) {
	n := f.Get(key)
	if n == nil {
		return c
	}
	if n.Kind == document.Scalar {
		if strings.HasSuffix(strings.TrimSpace(n.Text), "%") {
			return cluster.Steady(float64(f.Amount(n, key, q, whole)))
		}
		return cluster.Steady(f.Real(n, key, q))
	}
	in, given := f.Inner(key, []string{"samples", "mean", "recent", "most", "spread", "squares"})
	if !given {
		return c
	}
	c.Count = int64(in.Number("samples", entry.Required, 1, unit.Most))
	for _, part := range []struct {
		key  string
		into *float64
	}{{"mean", &c.Mean}, {"recent", &c.Recent}, {"most", &c.Max}, {"spread", &c.Spread}} {
		if n := in.Get(part.key); n != nil {
			*part.into = in.Real(n, part.key, q)
		}
	}
	if in.Get("mean") == nil {
		in.Complain(in.At, "mean is missing")
	}
	if in.Get("recent") == nil {
		c.Recent = c.Mean
	}
	if in.Get("most") == nil {
		c.Max = max(c.Mean, c.Recent)
	}
	if n := in.Get("squares"); n != nil {
		c.M2 = squares(&in, n)
	}
	return c
}

// room is the maximum of each property over the hosts.
type room struct {
	threads  int
	memory   int64
	capacity cluster.Resources
}

func (r *reader) room() (most room) {
	for i := range r.c.Hosts {
		h := &r.c.Hosts[i]
		most.threads = max(most.threads, h.Cores()*h.ThreadsPerCore)
		most.memory = max(most.memory, h.Memory)
		has := h.Capacity()
		most.capacity.CPU, most.capacity.Memory = max(most.capacity.CPU, has.CPU), max(most.capacity.Memory, has.Memory)
	}
	return most
}

// fits reports a VM that is larger than any host.
func fits(f *entry.Entry, v *cluster.VM, most room) {
	needs := v.Reserved()
	if v.VCPUs > most.threads {
		f.Complain(f.Get("vcpus"), "it is larger than any host: %d vCPUs, but no host has more than %d threads", v.VCPUs, most.threads)
	}
	switch {
	case v.Memory > most.memory:
		f.Complain(f.Get("memory"), "it is larger than any host: %s of memory, but no host has more than %s", unit.Size.Whole(v.Memory), unit.Size.Whole(most.memory))
	case needs.Memory > most.capacity.Memory:
		f.Complain(f.At, "it is larger than any host: %s of memory are reserved with its overhead, but no host can provide more than %s",
			unit.Size.Whole(needs.Memory), unit.Size.Whole(most.capacity.Memory))
	}
	if needs.CPU > most.capacity.CPU {
		f.Complain(f.Get("reservation"), "it is larger than any host: %s are reserved, but no host can provide more than %s",
			unit.Frequency.Whole(needs.CPU), unit.Frequency.Whole(most.capacity.CPU))
	}
}

// hostsOf are the hosts of the VMs of an entry, in rotation; nil for none.
func (r *reader) hostsOf(f *entry.Entry, several bool) []int32 {
	n := f.Get("host")
	if n == nil {
		return nil
	}
	if !several && n.Kind == document.Scalar && !strings.Contains(n.Text, "*") {
		id, known := r.hosts.Find(n.Text)
		if !known {
			f.Unknown(n, "unknown host", r.hosts.List)
			return nil
		}
		return []int32{id}
	}
	found := r.hosts.Pick(f, "host")
	if len(found) > 1 && !several {
		f.Complain(n, "a VM must have one host, not %d", len(found))
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

// squares reads a number of at least 0 without a unit.
func squares(f *entry.Entry, n *document.Node) float64 {
	text := f.Text(n, "squares")
	x, err := strconv.ParseFloat(text, 64)
	if text != "" && (err != nil || !(x >= 0) || math.IsInf(x, 0)) {
		f.Complain(n, "squares is %s: must be at least 0", document.Quote(text))
		return 0
	}
	return x
}
