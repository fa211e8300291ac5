package libvirt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/document"
	"plimsoll/internal/live"
)

// view is the cluster at one time, with state outside the model.
type view struct {
	at      time.Time
	cluster *cluster.Cluster
	seats   map[uuid]placement
	hosts   map[string]seen
	unsure  error // why the hosts in maintenance are unknown
}

// placement is the position of a VM.
type placement struct {
	name     string
	host     string // whose daemon runs it, or has its definition
	active   bool
	emulated bool
	shared   bool // its disks are in datastores that hosts share, past the page cache
}

// seen is the state of a host on reading.
type seen struct {
	state  cluster.HostState
	lost   string // why its daemon does not respond; empty if it does
	member *member
}

// policies are the settings and rules for a list of hosts and VMs.
type policies struct {
	hosts, vms []string
	rules      []cluster.Rule
	settings   cluster.Settings
}

// view is the cluster as last read. The lock is held.
func (s *source) view() *view {
	v := &view{at: time.Now(), seats: map[uuid]placement{}, hosts: map[string]seen{}}
	c := &cluster.Cluster{
		Name: s.file.cluster, At: v.at.UTC().Format(time.RFC3339), Pools: []cluster.Pool{snapshot.DefaultRoot()},
		Networks: s.file.networks, Datastores: s.file.datastores,
	}
	marks, err := s.file.maintained()
	if err != nil {
		marks, v.unsure = s.marks, err
	}
	s.marks = marks
	number := map[*member]cluster.HostID{}
	for _, m := range s.members {
		h := seen{state: cluster.Connected, member: m}
		switch {
		case m.conn == nil:
			h.state, h.lost = cluster.Quarantined, "no answer"
			if m.err != nil {
				h.lost = m.err.Error()
			}
		case marks[m.spec.name]:
			h.state = cluster.Maintenance
		}
		v.hosts[m.spec.name] = h
		if m.known {
			number[m] = cluster.HostID(len(c.Hosts))
			c.Hosts = append(c.Hosts, m.host)
			c.Hosts[number[m]].State = h.state
		}
	}
	s.place(v, c, number)
	s.govern(c)
	v.cluster = c
	return v
}

// found is a VM with the host and the domain that represent it.
type found struct {
	id     uuid
	name   string
	member *member
	domain *domain
}

// rank orders the hosts that report a VM: both hosts of a migration do.
func rank(m *member, d *domain) int {
	switch {
	case m.conn != nil && d.active() && d.state.On():
		return 4
	case m.conn != nil && d.active():
		return 3
	case d.active():
		return 2 // as far as known
	case m.conn != nil:
		return 1
	}
	return 0
}

// place adds the VMs, in the order of their names.
func (s *source) place(v *view, c *cluster.Cluster, number map[*member]cluster.HostID) {
	best := map[uuid]found{}
	for _, m := range s.members {
		for id, d := range m.vms {
			if f, taken := best[id]; !taken || rank(m, d) > rank(f.member, f.domain) {
				best[id] = found{id, d.Name, m, d}
			}
		}
	}
	all := make([]found, 0, len(best))
	for _, f := range best {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b found) int {
		if a.name != b.name {
			return strings.Compare(a.name, b.name)
		}
		return slices.Compare(a.id[:], b.id[:])
	})
	names, ids := make([]string, len(all)), make([]string, len(all))
	for i, f := range all {
		names[i], ids[i] = plain(f.name), written(f.id)
	}
	for i, name := range live.Unique(names, ids) {
		f := all[i]
		vm := f.domain.shape.vm()
		vm.Name = name
		if f.domain.tied() {
			vm.Pinned, vm.Tied = true, true
			vm.Datastores = append(slices.Clip(vm.Datastores), local(c, number[f.member]))
		}
		if f.domain.active() {
			vm.Host = number[f.member]
			vm.Pinned = vm.Pinned || f.member.conn == nil
			if l := s.loads[f.id]; l != nil {
				vm.Demand = l.demand
				// Consumed memory stays consumed on any host.
				vm.Mem.Reservation = max(vm.Mem.Reservation, l.demand.Consumed)
			}
		}
		c.VMs = append(c.VMs, vm)
		is := &f.domain.shape
		v.seats[f.id] = placement{name, f.member.spec.name, f.domain.active(), is.emulated, is.direct && is.tied == "" && len(is.stores) > 0}
	}
	for id := range s.loads {
		if _, there := best[id]; !there {
			delete(s.loads, id)
		}
	}
}

// local is the datastore of a host that stands for what it shares with no other, such as its own
// disks and devices.
func local(c *cluster.Cluster, at cluster.HostID) int32 {
	h := &c.Hosts[at]
	name := "local to " + h.Name
	if i := slices.Index(c.Datastores, name); i >= 0 {
		return int32(i)
	}
	i := int32(len(c.Datastores))
	c.Datastores = append(slices.Clip(c.Datastores), name)
	h.Datastores = append(slices.Clip(h.Datastores), i)
	return i
}

// written is a UUID in the notation of libvirt's tools.
func written(id uuid) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

const longestName = 120 // leaves room for a UUID

// plain is a name that is valid in a snapshot.
func plain(name string) string {
	name = strings.TrimSpace(strings.ReplaceAll(document.OneLine(strings.ToValidUTF8(name, "_")), "*", "_"))
	if len(name) > longestName {
		name = strings.ToValidUTF8(name[:longestName], "")
	}
	if name == "" {
		name = "_"
	}
	return name
}

// govern adds the settings and rules. They are evaluated again when hosts or VMs are added or
// removed.
func (s *source) govern(c *cluster.Cluster) {
	hosts, vms := make([]string, len(c.Hosts)), make([]string, len(c.VMs))
	for i := range c.Hosts {
		hosts[i] = c.Hosts[i].Name
	}
	for i := range c.VMs {
		vms[i] = c.VMs[i].Name
	}
	if s.cache.rules == nil && s.cache.hosts == nil || !slices.Equal(hosts, s.cache.hosts) || !slices.Equal(vms, s.cache.vms) {
		s.file.policies(c)
		s.cache = policies{hosts, vms, c.Rules, c.Settings}
	}
	c.Rules, c.Settings = s.cache.rules, s.cache.settings
}
