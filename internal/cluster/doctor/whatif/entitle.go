package whatif

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/divvy"
	"plimsoll/internal/cluster/doctor/words"
)

// Entitle is how to raise the entitlement of a VM to an amount: the smallest sufficient change
// of each setting.
type Entitle struct {
	VM       string        `json:"vm"`
	Resource string        `json:"resource"`
	Target   int64         `json:"target"` // MHz, or bytes without the hypervisor's overhead
	Asks     int64         `json:"asks"`   // now
	Gets     int64         `json:"gets"`   // present entitlement with the target as demand
	Most     int64         `json:"most"`   // largest entitlement that any of the settings gives, if none reaches the target
	Ways     []Combination `json:"ways,omitempty"`

	resource cluster.Resource
}

// Combination is a set of changes that reaches the target only together.
type Combination struct {
	Changes []CombinationChange `json:"changes"`
	Gets    int64               `json:"gets"`
	// Losers are VMs whose entitled demand decreases, Lost the total, and Worst the largest
	// loss.
	Losers int    `json:"losers"`
	Lost   int64  `json:"lost"`
	Worst  string `json:"worst,omitempty"`
}

// CombinationChange is one setting to change.
type CombinationChange struct {
	Setting string `json:"setting"` // argument of --set
	From    string `json:"from"`
	To      string `json:"to"`
	Script  string `json:"script"` // for govc
}

// seeker searches the smallest settings that entitle a VM to an amount. It changes settings in
// its own copy of the cluster, and restores them.
type seeker struct {
	c        *cluster.Cluster
	x        *cluster.Index
	all      cluster.Resources
	v        cluster.VMID
	r        cluster.Resource
	goal     int64 // with overhead
	crowded  int   // pools with overcommitted reservations before any change
	before   *divvy.Entitlements
	overhead int64
}

// errSize is returned for an amount that exceeds the VM's size.
var errSize = errors.New("nothing, or more than its size")

// FindEntitlement finds settings that entitle a running VM to an amount that it demands: MHz
// of CPU, or bytes of memory.
func FindEntitlement(c *cluster.Cluster, v cluster.VMID, r cluster.Resource, target int64) (*Entitle, error) {
	vm := &c.VMs[v]
	if vm.Host == cluster.Nowhere {
		return nil, fmt.Errorf("VM %s is not running, so it has no entitlement", vm.Name)
	}
	size := int64(vm.VCPUs) * cluster.CoreSpeed(c)
	if r == cluster.Memory {
		size = vm.Memory
	}
	if target > size || target < 1 {
		return nil, fmt.Errorf("%s for %s: %w; give at most %s", words.Amount(r, target), vm.Name, errSize, words.Amount(r, size))
	}
	own := *c
	own.VMs, own.Pools = slices.Clone(c.VMs), slices.Clone(c.Pools)
	s := &seeker{c: &own, x: cluster.NewIndex(c), v: v, r: r, goal: target}
	s.all = s.x.Total(c)
	if r == cluster.Memory {
		s.overhead = vm.Overhead
		s.goal += s.overhead
	}
	s.before = s.divide()
	s.crowded = len(s.before.Overcommitted())
	e := &Entitle{VM: vm.Name, Resource: r.String(), Target: target, Asks: part(r, s.x.Demand(v)) - s.overhead, Gets: s.gets(s.before) - s.overhead, resource: r}
	if s.gets(s.before) < s.goal {
		e.Ways = s.ways()
	}
	if len(e.Ways) == 0 {
		e.Most = max(e.Gets, s.most()-s.overhead)
	}
	return e, nil
}

func part(r cluster.Resource, of cluster.Resources) int64 {
	if r == cluster.CPU {
		return of.CPU
	}
	return of.Memory
}

// divide computes all entitlements with the goal as the VM's demand.
func (s *seeker) divide() *divvy.Entitlements {
	e := divvy.Divide(s.c, s.x, s.all, nil)
	asks := s.x.Demand(s.v)
	if s.r == cluster.CPU {
		asks.CPU = max(asks.CPU, s.goal)
	} else {
		asks.Memory = max(asks.Memory, s.goal)
	}
	e.Update(s.v, asks)
	return e
}

func (s *seeker) gets(e *divvy.Entitlements) int64 { return part(s.r, e.VM(s.v)) }

// enough reports whether settings reach the goal, with no pool overcommitted.
func (s *seeker) enough(settings ...Setting) bool {
	undo := s.set(settings)
	defer undo()
	e := s.divide()
	return s.gets(e) >= s.goal && len(e.Overcommitted()) <= s.crowded && s.admitted(settings)
}

// admitted reports whether the VM could start with its reservation.
func (s *seeker) admitted(settings []Setting) bool {
	if !slices.ContainsFunc(settings, func(one Setting) bool { return one.Field == Reservation }) {
		return true
	}
	l := divvy.NewLedger(s.c, cluster.NewIndex(s.c), s.all, func(v cluster.VMID) bool { return v != s.v && s.c.VMs[v].Host != cluster.Nowhere })
	return l.Admit(s.v).Admitted
}

// set applies settings, and returns a function that restores the previous ones.
func (s *seeker) set(settings []Setting) (undo func()) {
	was := make([]Setting, len(settings))
	for i, one := range settings {
		was[i] = one
		was[i].Value = *one.of(one.allocation(s.c))
		if one.Pool {
			was[i].Level = s.c.Pools[one.index(s.c)].Level
		}
		one.apply(s.c)
	}
	return func() {
		for _, one := range slices.Backward(was) {
			one.apply(s.c)
		}
	}
}

// step is the unit of amounts: a MHz, or a MiB.
func (s *seeker) step(f Field) int64 {
	if s.r == cluster.Memory && f != Shares {
		return 1 << 20
	}
	return 1
}

// least is the smallest sufficient value of a setting beside others; false if even its maximum
// is not sufficient.
func (s *seeker) least(knob Setting, others []Setting) (Setting, bool) {
	step := s.step(knob.Field)
	low := *knob.of(knob.allocation(s.c)) // not enough
	high := (knob.Value + step - 1) / step * step
	try := func(v int64) bool {
		knob.Value = v
		return s.enough(append(slices.Clone(others), knob)...)
	}
	if high <= low || !try(high) {
		return knob, false
	}
	for high-low > step {
		middle := (low + (high-low)/2) / step * step
		if middle <= low {
			middle += step
		}
		if middle >= high {
			break
		}
		if try(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	knob.Value = high
	return knob, true
}

// path is the pools that contain the VM, from the innermost up, without the root.
func (s *seeker) path() (list []cluster.PoolID) {
	p := s.c.VMs[s.v].Pool
	for deep := 0; p > 0 && deep <= len(s.c.Pools); deep++ {
		list = append(list, p)
		p = s.c.Pools[p].Parent
	}
	return list
}

func (s *seeker) of(p cluster.PoolID, f Field, value int64) Setting {
	if p < 0 {
		return Setting{Name: s.c.VMs[s.v].Name, Resource: s.r, Field: f, Value: value, Level: cluster.ShareCustom}
	}
	return Setting{Name: s.c.Pools[p].Name, Pool: true, Resource: s.r, Field: f, Value: value, Level: cluster.ShareCustom}
}

const theVM = cluster.PoolID(-1)

// ways are those by one setting. If none is sufficient, they are pairs of a setting of the VM
// and one of a pool, and finally reservations in the VM and all pools above.
func (s *seeker) ways() (out []Combination) {
	must := s.limits()
	if len(must) > 0 && s.enough(must...) {
		return []Combination{s.way(must)}
	}
	knobs := s.knobs()
	for _, k := range knobs {
		if found, ok := s.least(k, must); ok {
			out = append(out, s.way(append(slices.Clone(must), found)))
		}
	}
	for i, a := range knobs {
		if len(out) > 0 {
			break
		}
		for _, b := range knobs[i+1:] {
			first := a
			if found, ok := s.least(b, append(slices.Clone(must), first)); ok {
				with := append(slices.Clone(must), found)
				if first, ok = s.least(a, with); ok { // the first need not be at its maximum either
					out = append(out, s.way(append(with, first)))
				}
			}
		}
	}
	if upward := s.upward(); len(out) == 0 && s.enough(upward...) {
		out = append(out, s.way(upward))
	}
	slices.SortStableFunc(out, func(a, b Combination) int {
		return cmp.Or(cmp.Compare(a.Lost, b.Lost), cmp.Compare(len(a.Changes), len(b.Changes)))
	})
	return out
}

// limits are those that must be raised in any case: the VM's own.
func (s *seeker) limits() []Setting {
	own := s.of(theVM, Limit, s.goal-s.overhead)
	if *own.of(own.allocation(s.c)) < own.Value {
		own.Value = (own.Value + s.step(Limit) - 1) / s.step(Limit) * s.step(Limit)
		return []Setting{own}
	}
	return nil
}

// knobs are the settings of the VM and its pools, each at its maximum.
func (s *seeker) knobs() []Setting {
	list := []Setting{s.of(theVM, Shares, mostShares), s.of(theVM, Reservation, s.goal-s.overhead)}
	for _, p := range s.path() {
		all := part(s.r, s.all)
		one := s.of(p, Limit, all)
		limit := one.allocation(s.c).Limit
		list = append(list, s.of(p, Shares, mostShares), s.of(p, Reservation, min(all, limit)))
		if limit < all {
			list = append(list, one)
		}
	}
	return list
}

// upward reserves the goal for the VM, raises every pool above by the shortfall, and lifts
// their limits.
func (s *seeker) upward() []Setting {
	list := append(s.limits(), s.of(theVM, Reservation, s.goal-s.overhead))
	own := s.of(theVM, Reservation, 0)
	more := s.goal - s.overhead - own.allocation(s.c).Reservation
	for _, p := range s.path() {
		r := s.of(p, Reservation, 0)
		a := r.allocation(s.c)
		r.Value = a.Reservation + max(0, more)
		if a.Limit < r.Value {
			list = append(list, s.of(p, Limit, r.Value))
		}
		list = append(list, r)
	}
	return list
}

// most is the largest entitlement by the VM's own settings and those of its pools.
func (s *seeker) most() int64 {
	best := int64(0)
	free := slices.DeleteFunc(s.knobs(), func(one Setting) bool { return one.Field == Reservation })
	for _, list := range [][]Setting{s.upward(), append(s.limits(), s.knobs()...), append(s.limits(), free...)} {
		undo := s.set(list)
		if e := s.divide(); len(e.Overcommitted()) <= s.crowded && s.admitted(list) {
			best = max(best, s.gets(e))
		}
		undo()
	}
	return best
}

// way describes settings and their effect on others.
func (s *seeker) way(settings []Setting) Combination {
	w := Combination{}
	for _, one := range settings {
		from := *one.of(one.allocation(s.c))
		w.Changes = append(w.Changes, CombinationChange{Setting: one.String(), From: one.value(from), To: one.value(one.Value), Script: one.Script(s.c)})
	}
	undo := s.set(settings)
	defer undo()
	e := s.divide()
	w.Gets = s.gets(e) - s.overhead
	worst := int64(0)
	for v := range s.c.VMs {
		id := cluster.VMID(v)
		if s.c.VMs[v].Host == cluster.Nowhere || id == s.v {
			continue
		}
		asks := part(s.r, s.x.Demand(id))
		lost := min(asks, part(s.r, s.before.VM(id))) - min(asks, part(s.r, e.VM(id)))
		if lost > 1 { // ignore one unit of rounding
			w.Losers++
			w.Lost += lost
		}
		if lost > max(1, worst) {
			worst, w.Worst = lost, s.c.VMs[v].Name
		}
	}
	return w
}
