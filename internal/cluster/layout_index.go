package cluster

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// Index is derived data for all layouts of a cluster: demand and rules of each VM, and the
// hosts that it could ever run on.
type Index struct {
	reserved []Resources
	demand   []Resources
	capacity []Resources // by host
	rules    [][]RuleID  // between VMs, by VM
	wheres   [][]RuleID  // about hosts, by VM
	class    []int32     // of a VM: VMs of one class can run on the same hosts
	allowed  [][]uint64  // by class, one bit per host
}

// NewIndex computes it.
func NewIndex(c *Cluster) *Index {
	x := &Index{
		reserved: make([]Resources, len(c.VMs)), demand: make([]Resources, len(c.VMs)), capacity: make([]Resources, len(c.Hosts)),
		rules: make([][]RuleID, len(c.VMs)), class: make([]int32, len(c.VMs)),
	}
	core := CoreSpeed(c)
	for h := range c.Hosts {
		x.capacity[h] = c.Hosts[h].Capacity()
	}
	x.wheres = make([][]RuleID, len(c.VMs))
	x.bind(c)
	classes, hosts := map[string]int32{}, kindsOf(c)
	var key []byte
	for i := range c.VMs {
		v := &c.VMs[i]
		x.size(c, VMID(i), core)
		key = appendClass(key[:0], v, x.wheres[i])
		id, known := classes[string(key)]
		if !known {
			id = int32(len(x.allowed))
			classes[string(key)] = id
			x.allowed = append(x.allowed, hostsFor(c, hosts, v, x.wheres[i]))
		}
		x.class[i] = id
	}
	return x
}

// size enters the reservation and the demand of a VM.
func (x *Index) size(c *Cluster, i VMID, core int64) {
	v := &c.VMs[i]
	x.reserved[i], x.demand[i] = v.Reserved(), Resources{v.CPUDemand(core), v.MemoryDemand(c.Settings.Consumed)}
}

// bind enters the rules at their VMs, which have none yet.
func (x *Index) bind(c *Cluster) {
	for i := range c.Rules {
		r := &c.Rules[i]
		if r.Disabled {
			continue
		}
		into := x.rules
		if r.OfHosts() {
			into = x.wheres
		}
		for _, v := range r.VMs {
			into[v] = append(into[v], RuleID(i))
		}
	}
}

// CoreSpeed is the speed of a core, in MHz, that converts the size of VMs without a host: that
// of the slowest.
func CoreSpeed(c *Cluster) int64 {
	speed := int64(0)
	for i := range c.Hosts {
		if s := c.Hosts[i].MHz; speed == 0 || s < speed {
			speed = s
		}
	}
	return speed
}

// appendClass appends all properties that decide which hosts a VM can ever run on.
func appendClass(key []byte, v *VM, rules []RuleID) []byte {
	key = binary.AppendVarint(key, int64(v.VCPUs))
	key = binary.AppendVarint(key, v.Memory)
	for _, list := range [][]int32{v.Networks, v.Datastores} {
		key = binary.AppendVarint(key, int64(len(list)))
		for _, n := range list {
			key = binary.AppendVarint(key, int64(n))
		}
	}
	for _, r := range rules {
		key = binary.AppendVarint(key, int64(r))
	}
	return key
}

// kinds groups hosts with the same networks, datastores and threads.
type kinds struct {
	of    []int32  // kind of each host
	first []HostID // one host of each kind
}

func kindsOf(c *Cluster) kinds {
	k := kinds{of: make([]int32, len(c.Hosts))}
	known := map[string]int32{}
	var key []byte
	for h := range c.Hosts {
		host := &c.Hosts[h]
		key = strconv.AppendInt(key[:0], int64(host.Cores()*host.ThreadsPerCore), 36)
		for _, list := range [][]int32{host.Networks, host.Datastores} {
			key = append(key, '|')
			for _, n := range list {
				key = append(strconv.AppendInt(key, int64(n), 36), ' ')
			}
		}
		id, found := known[string(key)]
		if !found {
			id = int32(len(k.first))
			known[string(key)], k.first = id, append(k.first, HostID(h))
		}
		k.of[h] = id
	}
	return k
}

// hostsFor is a bit set of the hosts that could ever run a VM, with rules about hosts.
func hostsFor(c *Cluster, k kinds, v *VM, rules []RuleID) []uint64 {
	fine := make([]bool, len(k.first))
	for i, h := range k.first {
		fine[i] = fixedObstacle(c, v, nil, h).Check == Fine
	}
	bits := make([]uint64, (len(c.Hosts)+63)/64)
	for h, kind := range k.of {
		if fine[kind] {
			bits[h/64] |= 1 << (h % 64)
		}
	}
	for _, r := range rules {
		rule := &c.Rules[r]
		if !rule.Must {
			continue
		}
		named := make([]uint64, len(bits))
		for _, h := range rule.Hosts {
			named[h/64] |= 1 << (h % 64)
		}
		for i := range bits {
			if rule.Kind == OffHosts {
				bits[i] &^= named[i]
			} else {
				bits[i] &= named[i]
			}
		}
	}
	return bits
}

// fixedObstacle is why a VM could never run on a host, whatever other VMs do.
func fixedObstacle(c *Cluster, v *VM, rules []RuleID, h HostID) Obstacle {
	host := &c.Hosts[h]
	if n := missing(v.Networks, host.Networks); n >= 0 {
		return Obstacle{Check: NetworkCheck, Index: n}
	}
	if n := missing(v.Datastores, host.Datastores); n >= 0 {
		return Obstacle{Check: DatastoreCheck, Index: n}
	}
	if threads := int64(host.Cores() * host.ThreadsPerCore); int64(v.VCPUs) > threads {
		return Obstacle{Check: CoresCheck, Need: int64(v.VCPUs), Have: threads}
	}
	for _, r := range rules {
		rule := &c.Rules[r]
		_, named := slices.BinarySearch(rule.Hosts, h)
		if rule.Must && named == (rule.Kind == OffHosts) {
			return Obstacle{Check: HostRuleCheck, Rule: r}
		}
	}
	return Obstacle{}
}

// missing is the first of the sorted needs that is not available; -1 if all are.
func missing(needs, have []int32) int32 {
	for _, n := range needs {
		if _, found := slices.BinarySearch(have, n); !found {
			return n
		}
	}
	return -1
}

// Capacity is the capacity of a host for VMs.
func (x *Index) Capacity(h HostID) Resources { return x.capacity[h] }

// Reserved is the reservation of a VM.
func (x *Index) Reserved(v VMID) Resources { return x.reserved[v] }

// Demand is the demand of a VM.
func (x *Index) Demand(v VMID) Resources { return x.demand[v] }

// Rules are those between VMs that hold for one.
func (x *Index) Rules(v VMID) []RuleID { return x.rules[v] }

// Allowed reports whether a VM could ever run on a host.
func (x *Index) Allowed(v VMID, h HostID) bool {
	return x.allowed[x.class[v]][h/64]&(1<<(h%64)) != 0
}

// Total is the capacity of all running hosts.
func (x *Index) Total(c *Cluster) (all Resources) {
	for h := range c.Hosts {
		if c.Hosts[h].Runs() {
			all = all.Plus(x.Capacity(HostID(h)))
		}
	}
	return all
}
