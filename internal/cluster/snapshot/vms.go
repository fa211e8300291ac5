package snapshot

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/cluster"
	"plimsoll/internal/document"
)

var vmKeys = []string{
	"name", "like", "count", "host", "pool", "vcpus", "memory", "cores-per-socket", "overhead", "shares", "reservation", "limit",
	"demand", "networks", "datastores", "policy", "pinned", "waiting",
}

const mostVCPUs = 1024

func (r *reader) allVMs(n *document.Node) {
	items := r.in.Each(n, "vms")
	whole := r.in.Count() == 0 // hosts are as they are meant
	room := r.room()
	for item := range items {
		f, named := r.item(item, "vm", vmKeys)
		v := f.vm()
		count, given := f.counted(r.most.vms)
		if len(r.c.VMs)+count > r.most.vms {
			r.in.Complain(f.at, "a cluster has at most %d VMs", r.most.vms)
			return
		}
		r.add("the memory of all VMs", f.at, v.Memory+v.Overhead+v.Mem.Reservation, count)
		r.add("the reservations of all VMs", f.at, v.CPU.Reservation, count)
		if whole {
			f.fits(&v, room)
		}
		hosts := f.hosts(given)
		for k := 0; k < count && named; k++ {
			v.Host = cluster.Nowhere
			if hosts != nil {
				v.Host = cluster.HostID(hosts[k%len(hosts)])
			}
			if at, fresh := r.enter(&r.vms, &f, numbered(f.name, k, count, given)); fresh {
				v.Name = r.vms.list[at]
				v.Networks, v.Datastores = slices.Clone(v.Networks), slices.Clone(v.Datastores)
				r.c.VMs = append(r.c.VMs, v)
			}
		}
	}
}

func (f *fields) vm() cluster.VM {
	v := cluster.VM{
		VCPUs:          f.number("vcpus", span{required, 1, mostVCPUs}),
		CoresPerSocket: f.number("cores-per-socket", span{0, 0, mostVCPUs}),
		Memory:         f.quantity("memory", &size, required),
		Overhead:       f.quantity("overhead", &size, 0),
		Networks:       f.indexes("networks", &f.r.networks, "network"),
		Datastores:     f.indexes("datastores", &f.r.stores, "datastore"),
		Pinned:         f.flag("pinned", false),
		Waiting:        f.flag("waiting", false),
	}
	if v.CoresPerSocket > v.VCPUs {
		f.complain(f.get("cores-per-socket"), "%d cores per socket are more than its %d vCPUs", v.CoresPerSocket, v.VCPUs)
	}
	if n := f.get("policy"); n != nil {
		v.Policy, _ = f.r.name(n, "policy")
		v.Policy = f.r.kept(v.Policy)
	}
	if n := f.get("pool"); n != nil {
		id, known := f.r.pools.index[n.Text]
		if !known {
			f.r.in.Unknown(n, f.label()+": unknown pool", n.Text, f.r.pools.list)
		}
		v.Pool = cluster.PoolID(id)
	}
	if v.Waiting && f.get("host") != nil {
		f.complain(f.get("waiting"), "it waits to be placed, and has a host")
	}
	whole := cluster.Resources{CPU: int64(v.VCPUs) * f.r.core, Memory: v.Memory}
	g := f.shares(func(l cluster.ShareLevel) (int64, int64) { return cluster.VMShares(l, v.VCPUs, v.Memory) })
	v.CPU, v.Mem = f.allocation(g, whole)
	if v.Mem.Reservation > v.Memory {
		f.complain(f.get("reservation"), "%s of memory are reserved, and it has %s", size.whole(v.Mem.Reservation), size.whole(v.Memory))
	}
	v.Demand = f.demand(whole)
	return v
}

// demand reads what was seen of a VM.
func (f *fields) demand(whole cluster.Resources) (d cluster.Demand) {
	in, given := f.inner("demand", []string{"cpu", "active", "consumed", "dirty", "link"})
	if !given {
		return d
	}
	d.CPU = in.course("cpu", &frequency, whole.CPU)
	d.Active = in.course("active", &size, whole.Memory)
	if n := in.get("consumed"); n != nil {
		d.Consumed = in.amount(n, "consumed", &size, whole.Memory)
	}
	d.Dirty = in.quantity("dirty", &dirtying, 0)
	d.Link = in.quantity("link", &bandwidth, 0)
	return d
}

// course reads one amount, which a demand always was at, or what sums up many.
func (f *fields) course(key string, q *quantity, whole int64) (c cluster.Course) {
	n := f.get(key)
	if n == nil {
		return c
	}
	if n.Kind == document.Scalar {
		if strings.HasSuffix(strings.TrimSpace(n.Text), "%") {
			return cluster.Steady(float64(f.amount(n, key, q, whole)))
		}
		return cluster.Steady(f.real(n, key, q))
	}
	in, given := f.inner(key, []string{"samples", "mean", "recent", "most", "spread", "squares"})
	if !given {
		return c
	}
	c.Count = int64(in.number("samples", span{required, 1, mostAmount}))
	for _, part := range []struct {
		key  string
		into *float64
	}{{"mean", &c.Mean}, {"recent", &c.Recent}, {"most", &c.Max}, {"spread", &c.Spread}} {
		if n := in.get(part.key); n != nil {
			*part.into = in.real(n, part.key, q)
		}
	}
	if in.get("mean") == nil {
		in.complain(in.at, "mean is missing")
	}
	if in.get("recent") == nil {
		c.Recent = c.Mean
	}
	if in.get("most") == nil {
		c.Max = max(c.Mean, c.Recent)
	}
	if n := in.get("squares"); n != nil {
		c.M2 = in.squares(n)
	}
	return c
}

// real reads an amount that need not be whole.
func (f *fields) real(n *document.Node, key string, q *quantity) float64 {
	text := f.scalar(n, key)
	if text == "" {
		return 0
	}
	x, err := q.parseReal(text)
	if err != nil {
		f.complain(n, "%s is %s, which %v", key, document.Quote(text), err)
		return 0
	}
	return x
}

// room is the most that any host has of anything.
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

// fits complains about a VM that is larger than any host.
func (f *fields) fits(v *cluster.VM, most room) {
	needs := v.Reserved()
	if v.VCPUs > most.threads {
		f.complain(f.get("vcpus"), "it is larger than any host: %d vCPUs, and no host has more than %d threads", v.VCPUs, most.threads)
	}
	switch {
	case v.Memory > most.memory:
		f.complain(f.get("memory"), "it is larger than any host: %s of memory, and no host has more than %s", size.whole(v.Memory), size.whole(most.memory))
	case needs.Memory > most.capacity.Memory:
		f.complain(f.at, "it is larger than any host: %s of memory are reserved with its overhead, and no host can give more than %s",
			size.whole(needs.Memory), size.whole(most.capacity.Memory))
	}
	if needs.CPU > most.capacity.CPU {
		f.complain(f.get("reservation"), "it is larger than any host: %s are reserved, and no host can give more than %s",
			frequency.whole(needs.CPU), frequency.whole(most.capacity.CPU))
	}
}

// hosts are those that the VMs of an entry run on, by turns; nil for none.
func (f *fields) hosts(several bool) []int32 {
	n := f.get("host")
	if n == nil {
		return nil
	}
	if !several && n.Kind == document.Scalar && !strings.Contains(n.Text, "*") {
		id, known := f.r.hosts.index[n.Text]
		if !known {
			f.r.in.Unknown(n, f.label()+": unknown host", n.Text, f.r.hosts.list)
			return nil
		}
		return []int32{id}
	}
	found := f.pick("host", &f.r.hosts, "host")
	if len(found) > 1 && !several {
		f.complain(n, "one VM runs on one host, and these are %d", len(found))
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

// squares reads a plain number of at least 0.
func (f *fields) squares(n *document.Node) float64 {
	text := f.scalar(n, "squares")
	x, err := strconv.ParseFloat(text, 64)
	if text != "" && (err != nil || !(x >= 0) || math.IsInf(x, 0)) {
		f.complain(n, "squares is %s, which is not a number of at least 0", document.Quote(text))
		return 0
	}
	return x
}
