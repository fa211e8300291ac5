package snapshot

import (
	"slices"
	"strconv"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot/entry"
	"plimsoll/internal/cluster/snapshot/unit"
	"plimsoll/internal/document"
)

var hostKeys = []string{
	"name", "like", "count", "state", "sockets", "cores", "nodes", "threads", "cache", "mhz", "memory", "node-memory", "overhead", "factor",
	"nic", "networks", "datastores", "most-vms",
}

var hostStates = []string{
	string(cluster.Connected), string(cluster.Maintenance), string(cluster.Quarantined), string(cluster.Standby), string(cluster.Failed),
}

// Defaults of a host.
const (
	usualThreads = 2
	usualNIC     = 10_000_000_000 // bit/s
)

// Bounds beyond any real host, so that products do not overflow.
const (
	mostSockets = 64
	mostCores   = 4096
	mostMHz     = 100_000
)

func (r *reader) allHosts(root *document.Node) {
	kind := r.kind("host", root, hostKeys)
	n := root.Find("hosts")
	if n == nil {
		r.in.Complain(root, "the cluster has no hosts: is the file truncated?")
		return
	}
	some := false
	for item := range r.in.Each(n, "hosts") {
		some = true
		f, named := kind.Open(r.in, item)
		h := r.host(&f)
		count, given := f.Count(r.most.hosts)
		if len(r.c.Hosts)+count > r.most.hosts {
			r.in.Complain(f.At, "a cluster has at most %d hosts", r.most.hosts)
			break
		}
		r.add("the memory of all hosts", f.At, h.Memory, count)
		for k := 0; k < count && named; k++ {
			if at, fresh := r.hosts.Enter(&f, numbered(f.Name, k, count, given)); fresh {
				h.Name = r.hosts.List[at]
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
		r.in.Complain(root.Find("settings").Find("spare-hosts"), "spare-hosts is %d, but there are only %d hosts", s, len(r.c.Hosts))
	}
}

func (r *reader) host(f *entry.Entry) cluster.Host {
	h := cluster.Host{
		State:          cluster.HostState(f.Word("state", string(cluster.Connected), hostStates)),
		Sockets:        f.Number("sockets", 1, 1, mostSockets),
		NodesPerSocket: f.Number("nodes", 1, 1, mostSockets),
		ThreadsPerCore: f.Number("threads", usualThreads, 1, 8),
		CoresPerCache:  f.Number("cache", 0, 0, mostCores),
		MHz:            clock(f),
		Memory:         f.Quantity("memory", unit.Size, entry.Required),
		NodeMemory:     f.Quantity("node-memory", unit.Size, 0),
		Factor:         f.Share("factor", 1000, 1000),
		NIC:            f.Quantity("nic", unit.Bandwidth, usualNIC),
		MostVMs:        f.Number("most-vms", 0, 0, mostVMs),
	}
	cores := f.Number("cores", entry.Required, 1, mostCores)
	if cores%h.NodesPerSocket != 0 {
		f.Complain(f.Get("cores"), "%d cores of a socket are not divisible by %d nodes", cores, h.NodesPerSocket)
	}
	h.CoresPerNode = max(1, cores/h.NodesPerSocket)
	if h.CoresPerCache > h.CoresPerNode {
		f.Complain(f.Get("cache"), "%d cores share a cache, but a node has only %d", h.CoresPerCache, h.CoresPerNode)
	}
	if h.NodeMemory > h.Memory/int64(h.Nodes()) {
		f.Complain(f.Get("node-memory"), "the smallest of %d NUMA nodes has at most an equal part of the memory", h.Nodes())
	}
	if o, given := f.Inner("overhead", bothKeys); given {
		h.Overhead = cluster.Resources{CPU: o.Quantity("cpu", unit.Frequency, 0), Memory: o.Quantity("memory", unit.Size, 0)}
	}
	h.Networks = reached(f, "networks", &r.networks)
	h.Datastores = reached(f, "datastores", &r.stores)
	return h
}

// clock reads the speed of a core. The key implies the unit, so a plain number is valid.
func clock(f *entry.Entry) int64 {
	n := f.Get("mhz")
	if n == nil {
		f.Complain(f.At, "mhz is missing")
		return 1
	}
	text := f.Text(n, "mhz")
	if text == "" {
		return 1
	}
	if last := text[len(text)-1]; last >= '0' && last <= '9' {
		text += "MHz"
	}
	x, err := unit.Frequency.Parse(text)
	if err != nil {
		f.Complain(n, "mhz is %s, which %v", document.Quote(n.Text), err)
		return 1
	}
	if x < 1 || x > mostMHz {
		f.Complain(n, "mhz is %s: must be 1 to %d", document.Quote(n.Text), mostMHz)
		return 1
	}
	return x
}

// reached are the networks or datastores of a host: by default, all that the file declares.
func reached(f *entry.Entry, key string, s *entry.Names) []int32 {
	if f.Get(key) != nil || s.Open() {
		return s.Indexes(f, key)
	}
	if len(s.List) == 0 {
		return nil
	}
	all := make([]int32, len(s.List))
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// settle closes names that were collected from the hosts, and renumbers them there.
func (r *reader) settle(s *entry.Names, of func(*cluster.Host) []int32) {
	if !s.Open() {
		return
	}
	renumbered := s.Close()
	for h := range r.c.Hosts {
		list := of(&r.c.Hosts[h])
		for i := range list {
			list[i] = renumbered[list[i]]
		}
		slices.Sort(list)
	}
}

// numbered is the name of one of several equal hosts or VMs.
func numbered(name string, i, count int, counted bool) string {
	if !counted && count == 1 {
		return name
	}
	return name + "-" + strconv.Itoa(i+1)
}
