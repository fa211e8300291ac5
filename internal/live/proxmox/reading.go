package proxmox

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/proxmox"
)

// reading is the state of the API at one time.
type reading struct {
	at      time.Time
	name    string
	quorate bool
	nodes   map[string]*node
	guests  map[int]*guest
	rules   []proxmox.Rule
	tasks   []proxmox.Task
}

// node is a node on reading.
type node struct {
	name   string
	online bool
	known  bool // its hardware
	host   cluster.Host
	state  string // of the HA manager; empty without one
	marked bool   // by plimsoll, in its notes
	stores []string
	bridge []string  // none if they cannot be read
	read   time.Time // its hardware
}

// guest is a VM on reading.
type guest struct {
	proxmox.Resource
	id    int
	shape shape
	past  []proxmox.Sample // if it was unknown before
}

// known caches what seldom changes between readings.
type known struct {
	mu      sync.Mutex
	nodes   map[string]node
	configs map[int]config
}

// config is a VM's shape, and the key that it was read for.
type config struct {
	node  string
	cpus  int64
	size  int64
	name  string
	lock  string
	read  time.Time
	shape shape
}

// Configurations and nodes are read again after this time.
const keep = 5 * time.Minute

// parallel is the maximum number of concurrent requests.
const parallel = 8

// read reads the cluster.
func (k *known) read(ctx context.Context, c *proxmox.Client) (*reading, error) {
	r := &reading{at: time.Now(), quorate: true, nodes: map[string]*node{}, guests: map[int]*guest{}}
	members, err := c.Members(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range members {
		if m.Type == "cluster" {
			r.name, r.quorate = m.Name, m.Quorate > 0
		}
	}
	all, err := c.Resources(ctx)
	if err != nil {
		return nil, err
	}
	for _, x := range all {
		switch {
		case x.Type == "node":
			n := r.node(x.Node)
			n.online = x.Status == "online"
		case x.Type == "storage" && x.Shared > 0 && x.Status == "available":
			n := r.node(x.Node)
			n.stores = append(n.stores, x.Storage)
		case x.Type == "qemu" && x.Template == 0 && x.VMID >= 1:
			id := int(x.VMID.Int(math.MaxInt32))
			r.guests[id] = &guest{Resource: x, id: id}
		}
	}
	if err := k.details(ctx, c, r); err != nil {
		return nil, err
	}
	return r, k.policies(ctx, c, r)
}

func (r *reading) node(name string) *node {
	n := r.nodes[name]
	if n == nil {
		n = &node{name: name}
		r.nodes[name] = n
	}
	return n
}

// policies reads rules, states of the HA manager and tasks; none without access.
func (k *known) policies(ctx context.Context, c *proxmox.Client, r *reading) (err error) {
	if r.rules, err = c.Rules(ctx); !optional(err) {
		return err
	}
	states, err := c.NodeStates(ctx)
	if !optional(err) {
		return err
	}
	for name, state := range states {
		if n := r.nodes[name]; n != nil {
			n.state = state
		}
	}
	if r.tasks, err = c.Tasks(ctx); !optional(err) {
		return err
	}
	return nil
}

// optional is true without an error, and for a missing privilege or an older release.
func optional(err error) bool {
	if err == nil {
		return true
	}
	refused := new(proxmox.Refused)
	return errors.As(err, &refused) && slices.Contains([]int{http.StatusForbidden, http.StatusNotFound, http.StatusNotImplemented}, refused.Status)
}

// details reads unknown nodes and configurations concurrently.
func (k *known) details(ctx context.Context, c *proxmox.Client, r *reading) error {
	var work []func() error
	for _, n := range r.nodes {
		if n.online {
			work = append(work, func() error { return k.hardware(ctx, c, n) })
		} else if old, has := k.recall(n.name); has {
			n.known, n.host, n.bridge, n.marked = true, old.host, old.bridge, old.marked
		}
	}
	for _, g := range r.guests {
		work = append(work, func() error { return k.configure(ctx, c, r, g) })
	}
	jobs, errs := make(chan func() error), make(chan error, len(work))
	var all sync.WaitGroup
	for range min(parallel, len(work)) {
		all.Go(func() {
			for job := range jobs {
				errs <- job()
			}
		})
	}
	for _, job := range work {
		jobs <- job
	}
	close(jobs)
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (k *known) recall(name string) (node, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, has := k.nodes[name]
	return n, has
}

// hardware reads a node's hardware. Its notes are read each time, as they hold plimsoll's
// mark.
func (k *known) hardware(ctx context.Context, c *proxmox.Client, n *node) error {
	notes, err := c.Notes(ctx, n.name)
	if !optional(err) {
		return gone(err)
	}
	n.marked = marked(notes.Text)
	old, has := k.recall(n.name)
	if has && time.Since(old.read) < keep {
		n.known, n.host, n.bridge, n.read = true, old.host, old.bridge, old.read
	} else {
		v, err := c.Node(ctx, n.name)
		if err != nil {
			return gone(err)
		}
		if n.bridge, err = c.Bridges(ctx, n.name); !optional(err) {
			return gone(err)
		}
		n.host, n.known, n.read = hostOf(v), true, time.Now()
		if has {
			n.host.MHz = old.host.MHz // the reading is the current speed
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.nodes[n.name] = *n
	return nil
}

// gone ignores the error of a node or VM that has left, or does not respond: the next reading
// tells.
func gone(err error) error {
	refused := new(proxmox.Refused)
	if errors.As(err, &refused) && (refused.Status >= 590 || refused.Status == http.StatusInternalServerError) {
		return nil
	}
	return err
}

// usualMHz is the assumed speed of a core if a node does not report it.
const usualMHz = 2000

// hostOf is the hardware of a node. Cores are those of all sockets; if that gives more than
// two threads per core, they are those of one socket.
func hostOf(v proxmox.Node) cluster.Host {
	const most = 1 << 14
	cpus, cores, sockets := max(1, v.CPU.CPUs.Int(most)), max(1, v.CPU.Cores.Int(most)), max(1, v.CPU.Sockets.Int(64))
	if cpus/cores > 2 && cores*sockets <= cpus {
		cores *= sockets
	}
	cores = min(cores, cpus)
	if cores%sockets != 0 {
		sockets = 1
	}
	mhz := v.CPU.MHz.Int(100_000)
	if mhz == 0 {
		mhz = usualMHz
	}
	return cluster.Host{
		Sockets: int(sockets), NodesPerSocket: 1, CoresPerNode: int(cores / sockets), ThreadsPerCore: int(max(1, min(8, cpus/cores))),
		MHz: mhz, Memory: v.Memory.Total.Int(1 << 50), Factor: 1000, NIC: 10_000_000_000,
	}
}

// configure reads the configuration of a VM.
func (k *known) configure(ctx context.Context, c *proxmox.Client, r *reading, g *guest) error {
	now := config{node: g.Node, cpus: g.MaxCPU.Int(1 << 20), size: g.MaxMem.Int(1 << 50), name: g.Name, lock: g.Lock}
	k.mu.Lock()
	old := k.configs[g.id]
	k.mu.Unlock()
	now.read, now.shape = old.read, old.shape
	if n := r.nodes[g.Node]; now == old && time.Since(old.read) < keep || n == nil || !n.online {
		g.shape = old.shape
		return nil
	}
	v, err := c.Config(ctx, g.Node, g.id)
	if optional(err) && err != nil {
		v, err = proxmox.Config{}, nil
	}
	if err != nil {
		return gone(err)
	}
	now.shape, now.read = shapeOf(v), time.Now()
	g.shape = now.shape
	if g.running() && old.read.IsZero() {
		if g.past, err = c.History(ctx, g.Node, g.id); err != nil {
			g.past = nil // demand starts again
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.configs[g.id] = now
	return nil
}

// shape is the part of a VM's configuration that decides where it can run.
type shape struct {
	cores  int    // of a socket
	units  int64  // CPU weight; 0: default
	limit  int64  // CPU limit in thousandths of a core; 0: none
	tied   string // bound to its node by this; empty if it can move
	disks  string // storages of its disks, separated by spaces
	bridge string // bridges, likewise
}

// drives are the prefixes of settings that are disks.
var drives = []string{"ide", "sata", "scsi", "virtio", "efidisk", "tpmstate"}

// shapeOf parses a configuration.
func shapeOf(v proxmox.Config) (s shape) {
	s.cores = int(max(1, proxmoxInt(v["cores"], 4096)))
	s.units = proxmoxInt(v["cpuunits"], 1<<20)
	if x, err := strconv.ParseFloat(string(v["cpulimit"]), 64); err == nil && x > 0 && x <= 4096 {
		s.limit = int64(x * 1000)
	}
	var disks, bridges []string
	for name, value := range v {
		prefix := strings.TrimRight(name, "0123456789")
		if prefix == name {
			continue
		}
		p := proxmox.Properties(string(value))
		switch {
		case prefix == "hostpci", prefix == "usb" && !strings.HasPrefix(string(value), "spice"):
			if p["mapping"] == "" {
				s.tied = "the device " + name
			}
		case prefix == "net" && p["bridge"] != "":
			bridges = append(bridges, p["bridge"])
		case slices.Contains(drives, prefix):
			volume := p[""]
			if volume == "" {
				volume = p["file"]
			}
			store, _, named := strings.Cut(volume, ":")
			switch {
			case volume == "none" || volume == "":
			case !named:
				s.tied = "the disk " + volume
			default:
				disks = append(disks, store)
			}
		}
	}
	slices.Sort(disks)
	slices.Sort(bridges)
	s.disks, s.bridge = strings.Join(slices.Compact(disks), " "), strings.Join(slices.Compact(bridges), " ")
	return s
}

func proxmoxInt(w proxmox.Word, most int64) int64 {
	n, err := strconv.ParseInt(string(w), 10, 64)
	if err != nil {
		return 0
	}
	return min(max(n, 0), most)
}
