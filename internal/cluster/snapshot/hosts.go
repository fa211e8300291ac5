package snapshot

import (
	"cmp"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/document"
)

var hostKeys = []string{
	"name", "like", "count", "state", "sockets", "cores", "nodes", "threads", "cache", "mhz", "memory", "overhead", "factor",
	"nic", "networks", "datastores", "most-vms",
}

var hostStates = []string{
	string(cluster.Connected), string(cluster.Maintenance), string(cluster.Quarantined), string(cluster.Standby), string(cluster.Failed),
}

// What a host has that does not say.
const (
	usualThreads = 2
	usualNIC     = 10_000_000_000 // bit/s
)

// Bounds that no VM reaches, so that products of what they bound do not overflow.
const (
	mostSockets = 64
	mostCores   = 4096
	mostMHz     = 100_000
)

func (r *reader) allHosts(root *document.Node) {
	n := root.Find("hosts")
	if n == nil {
		r.in.Complain(root, "the cluster has no hosts: is the file cut off?")
		return
	}
	some := false
	for item := range r.in.Each(n, "hosts") {
		some = true
		f, named := r.item(item, "host", hostKeys)
		h := f.host()
		count, given := f.counted(r.most.hosts)
		if len(r.c.Hosts)+count > r.most.hosts {
			r.in.Complain(f.at, "a cluster has at most %d hosts", r.most.hosts)
			break
		}
		r.add("the memory of all hosts", f.at, h.Memory, count)
		for k := 0; k < count && named; k++ {
			if at, fresh := r.enter(&r.hosts, &f, numbered(f.name, k, count, given)); fresh {
				h.Name = r.hosts.list[at]
				h.Networks, h.Datastores = slices.Clone(h.Networks), slices.Clone(h.Datastores)
				r.c.Hosts = append(r.c.Hosts, h)
			}
		}
	}
	if !some && n.Kind == document.List {
		r.in.Complain(n, "the cluster has no hosts")
	}
	r.settle(&r.networks, func(h *cluster.Host) []int32 { return h.Networks })
	r.settle(&r.stores, func(h *cluster.Host) []int32 { return h.Datastores })
	r.core = cluster.CoreSpeed(r.c)
	if s := r.c.Settings.SpareHosts; s > 0 && s >= len(r.c.Hosts) {
		r.in.Complain(root.Find("settings").Find("spare-hosts"), "spare-hosts is %d, and there are %d hosts", s, len(r.c.Hosts))
	}
}

func (f *fields) host() cluster.Host {
	h := cluster.Host{
		State:          cluster.HostState(f.word("state", string(cluster.Connected), hostStates)),
		Sockets:        f.number("sockets", span{1, 1, mostSockets}),
		NodesPerSocket: f.number("nodes", span{1, 1, mostSockets}),
		ThreadsPerCore: f.number("threads", span{usualThreads, 1, 8}),
		CoresPerCache:  f.number("cache", span{0, 0, mostCores}),
		MHz:            f.clock(),
		Memory:         f.quantity("memory", &size, required),
		Factor:         f.portion("factor", 1000, 1000),
		NIC:            f.quantity("nic", &bandwidth, usualNIC),
		MostVMs:        f.number("most-vms", span{0, 0, mostVMs}),
	}
	cores := f.number("cores", span{required, 1, mostCores})
	if cores%h.NodesPerSocket != 0 {
		f.complain(f.get("cores"), "%d cores of a socket cannot be shared among %d nodes evenly", cores, h.NodesPerSocket)
	}
	h.CoresPerNode = max(1, cores/h.NodesPerSocket)
	if h.CoresPerCache > h.CoresPerNode {
		f.complain(f.get("cache"), "%d cores share a cache, and a node has %d", h.CoresPerCache, h.CoresPerNode)
	}
	if o, given := f.inner("overhead", []string{"cpu", "memory"}); given {
		h.Overhead = cluster.Resources{CPU: o.quantity("cpu", &frequency, 0), Memory: o.quantity("memory", &size, 0)}
	}
	h.Networks = f.reached("networks", &f.r.networks, "network")
	h.Datastores = f.reached("datastores", &f.r.stores, "datastore")
	return h
}

// clock reads the speed of a core. The key says its unit, so that a bare number will do.
func (f *fields) clock() int64 {
	n := f.get("mhz")
	if n == nil {
		f.complain(f.at, "mhz is missing")
		return 1
	}
	text := f.scalar(n, "mhz")
	if text == "" {
		return 1
	}
	if last := text[len(text)-1]; last >= '0' && last <= '9' {
		text += "MHz"
	}
	x, err := frequency.parse(text)
	if err != nil {
		f.complain(n, "mhz is %s, which %v", document.Quote(n.Text), err)
		return 1
	}
	if x < 1 || x > mostMHz {
		f.complain(n, "mhz is %s, which is out of the range from 1 to %d", document.Quote(n.Text), mostMHz)
		return 1
	}
	return x
}

// reached are the networks or datastores of a host: all that the file lists at its top,
// when the host does not say.
func (f *fields) reached(key string, s *names, what string) []int32 {
	if f.get(key) != nil || s.open {
		return f.indexes(key, s, what)
	}
	all := make([]int32, len(s.list))
	for i := range all {
		all[i] = int32(i)
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// settle sorts names that were collected from the hosts, and closes them: from here on
// a new one is unknown.
func (r *reader) settle(s *names, of func(*cluster.Host) []int32) {
	if !s.open {
		return
	}
	s.open = false
	order := make([]int32, len(s.list)) // sorted place -> former place
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(s.list[a], s.list[b]) })
	place := make([]int32, len(order))
	sorted := names{index: map[string]int32{}}
	for _, old := range order {
		place[old], _ = sorted.add(s.list[old], s.lines[old])
	}
	for h := range r.c.Hosts {
		list := of(&r.c.Hosts[h])
		for i := range list {
			list[i] = place[list[i]]
		}
		slices.Sort(list)
	}
	*s = sorted
}
