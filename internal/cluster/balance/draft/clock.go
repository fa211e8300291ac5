package draft

import (
	"math"
	"math/bits"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/migrate"
	"plimsoll/internal/cluster/place"
)

// Clock budgets the time of migrations until the next round. Unless the operator sets a number
// of moves, a host makes at most
//
//	interval / time of a migration * concurrent migrations
//
// and at least one. Before the clock runs, every move is in time.
type Clock struct {
	c        *cluster.Cluster
	interval int64
	busy     []int64 // by host: seconds of migrations; nil before the clock runs
}

// UnitMove is a unit that goes from one host to another.
type UnitMove struct {
	Unit     []cluster.VMID
	From, To cluster.HostID
	Note     string
}

// Interval is the time until the next round, in seconds.
func (k *Clock) Interval() int64 {
	if k.interval > 0 {
		return k.interval
	}
	return 300
}

func (k *Clock) running() bool { return k.busy != nil }

// start adds the time of the mandatory moves.
func (k *Clock) start(moves []advice.Move) {
	k.busy = make([]int64, len(k.c.Hosts))
	for _, m := range moves {
		if k.c.Hosts[m.From].Runs() {
			k.spend(m.Step, 1)
		}
	}
}

// Pause stops the clock until the returned function is called.
func (k *Clock) Pause() (resume func()) {
	busy := k.busy
	k.busy = nil
	return func() { k.busy = busy }
}

// spend adds the time of a migration on both hosts, or subtracts it where sign is -1.
func (k *Clock) spend(s place.Step, sign int64) {
	if !k.running() {
		return
	}
	for _, h := range [...]cluster.HostID{s.From, s.To} {
		k.busy[h] += sign * migrate.Shared(k.c, s, k.parallel(h))
	}
}

// parallel is the maximum number of concurrent migrations of a host.
func (k *Clock) parallel(h cluster.HostID) int64 { return int64(migrate.Limits{}.Of(&k.c.Hosts[h])) }

// unlimited reports whether only the number of moves limits a round, not their time.
func (k *Clock) unlimited() bool { return k.c.Settings.MostMoves > 0 || !k.running() }

// InTime reports whether a move would end before the next round.
func (k *Clock) InTime(vms []cluster.VMID, s place.Step) bool {
	if k.unlimited() {
		return true
	}
	path := [...]UnitMove{{Unit: vms, From: s.From, To: s.To}}
	return (k.busy[s.From] <= 0 || k.fits(path[:], s.From)) && (k.busy[s.To] <= 0 || k.fits(path[:], s.To))
}

// AllInTime reports whether migrations would all end before the next round.
func (k *Clock) AllInTime(path []UnitMove) bool {
	if k.unlimited() {
		return true
	}
	for _, h := range path {
		if !k.fits(path, h.From) || !k.fits(path, h.To) {
			return false
		}
	}
	return true
}

// fits reports whether a host has time for its share of migrations.
func (k *Clock) fits(path []UnitMove, at cluster.HostID) bool {
	many, seconds := k.parallel(at), int64(0)
	for i := range path {
		h := &path[i]
		if h.From != at && h.To != at {
			continue
		}
		for _, v := range h.Unit {
			seconds += migrate.Shared(k.c, place.Step{VM: v, From: h.From, To: h.To}, many)
		}
	}
	return k.busy[at]+seconds <= k.Interval()*many
}

// HasTime reports whether a host has time for one more migration before the next round.
func (k *Clock) HasTime(h cluster.HostID) bool {
	return k.c.Settings.MostMoves > 0 || k.busy[h] < k.Interval()*k.parallel(h)
}

// Window bounds the migrations between two hosts that end before the next round: VMs that
// dirty memory more slowly than the rate and have less memory than the bound. The condition is
// necessary, not sufficient, and far cheaper than InTime.
type Window struct{ memory, rate int64 }

// Window is the bound for two hosts.
func (k *Clock) Window(from, to cluster.HostID) Window {
	w := Window{math.MaxInt64, 0}
	if k.unlimited() {
		return w
	}
	for _, h := range [...]cluster.HostID{from, to} {
		if k.busy[h] == 0 {
			continue // at least one always ends in time
		}
		many := k.parallel(h)
		rate, seconds := migrate.Link(k.c, place.Step{From: from, To: to})/many, max(0, k.Interval()*many-k.busy[h]+1)
		high, bytes := bits.Mul64(uint64(rate), uint64(seconds))
		if rate == 0 || high > 0 || bytes > math.MaxInt64 {
			continue
		}
		if w.rate == 0 || rate < w.rate {
			w.rate = rate
		}
		w.memory = min(w.memory, int64(bytes))
	}
	return w
}

// Misses reports whether a VM's migration cannot end in time.
func (w Window) Misses(memory, dirty int64) bool { return memory >= w.memory && dirty < w.rate }
