package libvirt

import (
	"fmt"
	"os"
	"strings"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/cluster/snapshot/entry"
	"plimsoll/internal/cluster/snapshot/unit"
	"plimsoll/internal/document"
	"plimsoll/internal/libvirt"
)

// file is the list of hosts.
type file struct {
	name       string // of the file
	cluster    string
	poll       time.Duration
	readOnly   bool // connections are opened read-only
	hosts      []spec
	networks   []string // that host and VM requirements may name
	datastores []string // folders and pools shared by several hosts
	migration  struct {
		bandwidth    int // MiB/s
		autoConverge bool
		emulatedLive bool // VMs without KVM are not paused
	}
	in   *document.File
	root *document.Node
}

// spec is a host of the file.
type spec struct {
	name, uri string
	migration string // URI at which its hypervisor receives memory
	own       entry.Entry
	networks  []int32
	stores    []int32
}

var format = document.Format{
	What: "list of libvirt hosts", Most: 8 << 20, Example: "hosts: [{name: alpha, uri: qemu:///system}]",
	Begin: "docs/cluster/live-libvirt.md has one to start from", Alias: "write it out",
}

var (
	fileKeys = append([]string{"cluster", "poll", "read-only", "migration", "networks", "datastores", "defaults", "hosts"}, snapshot.PolicyKeys...)
	// Properties that a daemon reports, and the file may override.
	ownKeys  = []string{"sockets", "cores", "nodes", "threads", "cache", "mhz", "memory", "overhead", "nic", "most-vms", "networks", "datastores"}
	hostKeys = append([]string{"name", "uri", "migration"}, ownKeys...)
)

const (
	usualPoll  = 5 * time.Second
	mostHosts  = 1000
	mostPoll   = 3600 // seconds
	usualNIC   = 10_000_000_000
	mostNumber = 1 << 16
)

// readFile reads and checks a file.
func readFile(name string) (*file, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the list of libvirt hosts: %w", err)
	}
	return parseFile(name, text)
}

func parseFile(name string, text []byte) (*file, error) {
	f := &file{name: name, in: document.New(name, format)}
	if f.root = f.in.Read(text); f.root != nil {
		f.read()
	}
	if err := f.in.Err(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *file) read() {
	f.in.Table(f.root, "a list of libvirt hosts", fileKeys)
	top := entry.Of(f.in, "cluster", "", f.root)
	if n := f.root.Find("cluster"); n != nil {
		name, _ := entry.ReadName(f.in, n, "cluster")
		f.cluster = strings.Clone(name)
	}
	f.poll = usualPoll
	if s := top.Quantity("poll", unit.Time, 0); s < 0 || s > mostPoll {
		top.Complain(top.Get("poll"), "poll must be from 1s to 1h")
	} else if s > 0 {
		f.poll = time.Duration(s) * time.Second
	}
	f.readOnly = top.Flag("read-only", false)
	if m, given := top.Inner("migration", []string{"bandwidth", "auto-converge", "emulated-live"}); given {
		f.migration.bandwidth = int(m.Quantity("bandwidth", unit.DirtyRate, 0) >> 20)
		f.migration.autoConverge = m.Flag("auto-converge", true)
		f.migration.emulatedLive = m.Flag("emulated-live", false)
	} else {
		f.migration.autoConverge = true
	}
	networks, stores := entry.Names{Kind: "network"}, entry.Names{Kind: "datastore"}
	networks.Declare(f.in, listed(f.root.Find("networks")))
	stores.Declare(f.in, listed(f.root.Find("datastores")))
	f.networks, f.datastores = networks.List, stores.List
	f.readHosts(&networks, &stores)
	c := &cluster.Cluster{Settings: cluster.DefaultSettings()}
	for i := range f.hosts {
		c.Hosts = append(c.Hosts, cluster.Host{Name: f.hosts[i].name})
	}
	snapshot.Policies(f.in, f.root, c)
}

// listed is a list of names, empty without one.
func listed(n *document.Node) *document.Node {
	if n == nil {
		return &document.Node{Kind: document.List}
	}
	return n
}

func (f *file) readHosts(networks, stores *entry.Names) {
	kind := entry.Kind{Name: "host", Keys: hostKeys}
	if d := f.root.Find("defaults"); d != nil && f.in.Table(d, "defaults", []string{"hosts"}) {
		if h := d.Find("hosts"); h != nil && f.in.Table(h, "defaults of hosts", ownKeys) {
			kind.Defaults = h
		}
	}
	n := f.root.Find("hosts")
	if n == nil {
		f.in.Complain(f.root, "the list has no hosts")
		return
	}
	names := entry.Names{Kind: "host"}
	for item := range f.in.Each(n, "hosts") {
		if len(f.hosts) >= mostHosts {
			f.in.Complain(item, "a cluster of libvirt has at most %d hosts", mostHosts)
			return
		}
		e, named := kind.Open(f.in, item)
		e.At = keep(item)
		s := spec{name: strings.Clone(e.Name), own: e}
		s.uri = f.address(&e, "uri", true)
		s.migration = f.address(&e, "migration", false)
		s.networks, s.stores = all(&e, "networks", networks), all(&e, "datastores", stores)
		s.host(cluster.Host{}) // reports errors
		if named {
			if _, fresh := names.Enter(&e, e.Name); fresh {
				f.hosts = append(f.hosts, s)
			}
		}
	}
	if len(f.hosts) == 0 && n.Kind == document.List {
		f.in.Complain(n, "the list has no hosts")
	}
}

// keep copies a node that outlives its list.
func keep(n *document.Node) *document.Node {
	k := *n
	return &k
}

// address parses a URI.
func (f *file) address(e *entry.Entry, key string, required bool) string {
	n := e.Get(key)
	if n == nil {
		if required {
			e.Complain(e.At, "%s is missing: the URI of its libvirt daemon, such as qemu:///system", key)
		}
		return ""
	}
	text := strings.Clone(e.Text(n, key))
	if required {
		if err := libvirt.CheckURI(text); err != nil {
			e.Complain(n, "%v", err)
		}
	} else if !strings.HasPrefix(text, "tcp://") && !strings.HasPrefix(text, "unix://") {
		e.Complain(n, "%s must be the URI at which QEMU receives memory, such as tcp://10.0.0.2 or unix:///run/migrate.sock", key)
	}
	return text
}

// all are the names of a key; without the key, all names.
func all(e *entry.Entry, key string, s *entry.Names) []int32 {
	if e.Get(key) != nil {
		return s.Indexes(e, key)
	}
	var list []int32
	for i := range s.List {
		list = append(list, int32(i))
	}
	return list
}

// host is the host as its daemon reports it, with the overrides of the file.
func (s *spec) host(h cluster.Host) cluster.Host {
	e := s.own
	h.Name, h.Networks, h.Datastores = s.name, s.networks, s.stores
	h.NodesPerSocket = e.Number("nodes", int64(max(1, h.NodesPerSocket)), 1, mostNumber)
	h.Sockets = e.Number("sockets", int64(max(1, h.Sockets)), 1, mostNumber)
	cores := e.Number("cores", int64(max(1, h.CoresPerNode*h.NodesPerSocket)), 1, mostNumber)
	if cores%h.NodesPerSocket != 0 && e.Get("cores") != nil {
		e.Complain(e.Get("cores"), "%d cores of a socket are not divisible by %d nodes", cores, h.NodesPerSocket)
	}
	h.CoresPerNode = max(1, cores/h.NodesPerSocket)
	h.ThreadsPerCore = e.Number("threads", int64(max(1, h.ThreadsPerCore)), 1, 8)
	h.CoresPerCache = e.Number("cache", int64(h.CoresPerCache), 0, mostNumber)
	if h.CoresPerCache > h.CoresPerNode {
		if e.Get("cache") != nil && e.Get("cores") != nil {
			e.Complain(e.Get("cache"), "%d cores share a cache, but a node has only %d", h.CoresPerCache, h.CoresPerNode)
		}
		h.CoresPerCache = 0
	}
	h.MHz = int64(e.Number("mhz", max(1, h.MHz), 1, 100_000))
	if e.Get("memory") != nil || e.Get("nodes") != nil || e.Get("sockets") != nil {
		h.NodeMemory = 0 // that of other nodes
	}
	h.Memory = e.Quantity("memory", unit.Size, h.Memory)
	h.NIC = e.Quantity("nic", unit.Bandwidth, usualNIC)
	h.MostVMs = e.Number("most-vms", 0, 0, mostNumber)
	if o, given := e.Inner("overhead", []string{"cpu", "memory"}); given {
		h.Overhead = cluster.Resources{CPU: o.Quantity("cpu", unit.Frequency, 0), Memory: o.Quantity("memory", unit.Size, 0)}
	}
	h.Factor = 1000
	return h
}

// policies reads settings and rules into a cluster. Names that are absent at present are
// errors.
func (f *file) policies(c *cluster.Cluster) {
	c.Settings = cluster.DefaultSettings()
	snapshot.Policies(f.in.Anew(), f.root, c)
	if s := f.root.Find("settings"); s == nil || s.Find("consumed") == nil {
		c.Settings.Consumed = true // a hypervisor cannot reclaim memory that a VM consumes
	}
}
