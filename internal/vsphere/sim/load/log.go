package load

import (
	"cmp"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/sim/model"
)

// mostChanges is the maximum number of recorded changes, of all VMs. A change takes some 40
// bytes, and a deleted VM some 400.
const mostChanges = 250_000

// state is the state of a VM from a time on.
type state struct {
	at         int64 // milliseconds since 1970
	host, pool int32
	size       *size // nil if it is off
}

// size is the input of a VM to the division of a host.
type size struct {
	vcpus            int64
	memory, overhead int64
	cpu, mem         cluster.Allocation
	steady           Sample // its demand if no other is known
}

func sizeOf(v *cluster.VM) size {
	return size{int64(v.VCPUs), v.Memory, v.Overhead, v.CPU, v.Mem, Sample{
		CPU: int64(v.Demand.CPU.Recent), Active: int64(v.Demand.Active.Recent), Consumed: v.Demand.Consumed, Link: v.Demand.Link,
	}}
}

// life is the history of a VM.
type life struct {
	states []state // by time
	size   *size   // the last
	gone   bool
	shows  figures      // published statistics
	course DemandSeries // nil if its demand is steady
	id     cluster.VMID
}

// names numbers objects, so that a state is small.
type names struct {
	number map[reference]int32
	list   []reference
}

func (n *names) of(ref reference) int32 {
	i, known := n.number[ref]
	if !known {
		i = int32(len(n.list))
		n.number[ref], n.list = i, append(n.list, ref)
	}
	return i
}

// log is the history of VMs and their hosts. Its owner locks it.
type log struct {
	hosts, pools, vms names
	lives             []life
	on                []map[int32]bool // by host: VMs that ever ran there
	at                []map[int32]bool // by host: VMs on it, running or not
	changes, most     int
	from              int64 // start of the history
	// free are unused numbers of VMs. Readers may still use those of the last cut.
	free, freed []int32
}

func newLog(from int64) *log {
	made := func() names { return names{number: map[reference]int32{}} }
	return &log{hosts: made(), pools: made(), vms: made(), most: mostChanges, from: from}
}

// note records a change, and returns the VM's former host. If the VM is old, its first state
// holds from the start of the log.
func (l *log) note(at int64, seen model.Seen, old bool) (from reference) {
	i := l.number(seen.VM)
	v := &l.lives[i]
	from = seen.Host
	if n := len(v.states); n > 0 {
		from = l.hosts.list[v.states[n-1].host]
	}
	v.gone, v.shows = seen.Size == nil, figures{}
	s := state{at: at, host: l.hosts.of(seen.Host), pool: l.pools.of(seen.Pool)}
	if old {
		s.at = l.from
	}
	if seen.Size != nil {
		is := sizeOf(seen.Size)
		if v.size == nil || *v.size != is {
			v.size = &is
		}
		if seen.On {
			s.size = v.size
		}
	}
	for len(l.on) < len(l.hosts.list) {
		l.on, l.at = append(l.on, map[int32]bool{}), append(l.at, map[int32]bool{})
	}
	if n := len(v.states); n > 0 {
		delete(l.at[v.states[n-1].host], i)
	}
	l.append(v, s)
	if s.size != nil {
		l.on[s.host][i] = true
	}
	if !v.gone {
		l.at[s.host][i] = true
	}
	if l.changes > l.most {
		l.cut()
	}
	return from
}

// number is that of a VM, which may be new.
func (l *log) number(vm reference) int32 {
	if _, known := l.vms.number[vm]; !known && len(l.free) > 0 {
		i := l.free[len(l.free)-1]
		l.free = l.free[:len(l.free)-1]
		l.vms.number[vm], l.vms.list[i], l.lives[i] = i, vm, life{}
		return i
	}
	i := l.vms.of(vm)
	if int(i) == len(l.lives) {
		l.lives = append(l.lives, life{})
	}
	return i
}

// append adds a state. Of several in one slot of the shortest samples the last is valid for
// the whole slot.
func (l *log) append(v *life, s state) {
	n := len(v.states)
	if n > 0 && v.states[n-1].same(s) {
		return
	}
	if n > 1 && v.states[n-1].at/slot == s.at/slot {
		v.states[n-1].host, v.states[n-1].pool, v.states[n-1].size = s.host, s.pool, s.size
		if v.states[n-2].same(v.states[n-1]) {
			v.states, l.changes = v.states[:n-1], l.changes-1
		}
		return
	}
	v.states, l.changes = append(v.states, s), l.changes+1
}

func (s state) same(o state) bool {
	return s.size == o.size && s.host == o.host && (s.pool == o.pool || s.size == nil)
}

// cut drops the older half of the changes.
func (l *log) cut() {
	ends := make([]int64, 0, l.changes)
	for i := range l.lives {
		for _, s := range l.lives[i].states {
			ends = append(ends, s.at)
		}
	}
	slices.Sort(ends)
	l.from = max(l.from, ends[len(ends)/2])
	l.changes = 0
	for i := range l.on {
		clear(l.on[i])
	}
	l.free, l.freed = append(l.free, l.freed...), nil
	for i := range l.lives {
		v := &l.lives[i]
		if len(v.states) == 0 {
			continue // unused
		}
		first := 0
		for first+1 < len(v.states) && v.states[first+1].at <= l.from {
			first++
		}
		v.states = slices.Clone(v.states[first:])
		if v.gone && len(v.states) == 1 {
			delete(l.vms.number, l.vms.list[i])
			l.vms.list[i], *v = reference{}, life{}
			l.freed = append(l.freed, int32(i))
		}
		l.changes += len(v.states)
		for _, s := range v.states {
			if s.size != nil {
				l.on[s.host][int32(i)] = true
			}
		}
	}
}

// stay is a time in which a VM ran on a host unchanged.
type stay struct {
	vm       int32
	host     int32
	pool     int32
	from, to int64
	size     *size
	course   DemandSeries
	id       cluster.VMID
}

// stays are those of a VM in a span of time.
func (l *log) stays(vm int32, from, to int64, do func(stay)) {
	v := &l.lives[vm]
	first, _ := slices.BinarySearchFunc(v.states, from, func(s state, at int64) int {
		if s.at <= at {
			return -1
		}
		return 1
	})
	for i := max(0, first-1); i < len(v.states) && v.states[i].at < to; i++ {
		s := v.states[i]
		end := to
		if i+1 < len(v.states) {
			end = min(end, v.states[i+1].at)
		}
		if begin := max(s.at, from, l.from); s.size != nil && begin < end {
			do(stay{vm: vm, host: s.host, pool: s.pool, from: begin, to: end, size: s.size, course: v.course, id: v.id})
		}
	}
}

// staysOn are those of all VMs on a host in a span of time, by start.
func (l *log) staysOn(host int32, from, to int64) []stay {
	if int(host) >= len(l.on) {
		return nil
	}
	return l.among(l.on[host], host, from, to)
}

// nowOn are those of the VMs that are on a host, in a span of time that includes the present.
func (l *log) nowOn(host int32, from, to int64) []stay {
	if int(host) >= len(l.at) {
		return nil
	}
	return l.among(l.at[host], host, from, to)
}

// among are those of some VMs on a host.
func (l *log) among(vms map[int32]bool, host int32, from, to int64) (list []stay) {
	for vm := range vms {
		l.stays(vm, from, to, func(s stay) {
			if s.host == host {
				list = append(list, s)
			}
		})
	}
	slices.SortFunc(list, func(a, b stay) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.vm, b.vm))
	})
	return list
}
