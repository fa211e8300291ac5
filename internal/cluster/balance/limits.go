package balance

import (
	"math"
	"math/bits"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/migrate"
	"plimsoll/internal/cluster/place"
)

// interval is the time to the next round, in seconds.
func (r *round) interval() int64 {
	if r.options.Interval > 0 {
		return r.options.Interval
	}
	return 300
}

// busyWith counts the time of moves that are made in any case.
func (r *round) busyWith(moves []advice.Move) {
	r.busy = make([]int64, len(r.c.Hosts))
	for _, m := range moves {
		if m.From != cluster.Nowhere && r.c.Hosts[m.From].Runs() {
			r.spend(m.Step, 1)
		}
	}
}

// inTime says whether a move would end before the next round. Without a number of
// moves from the operator a host makes as many as
//
//	interval / time of a migration * migrations at the same time
//
// and one in any case.
func (r *round) inTime(s place.Step) bool {
	if r.c.Settings.MostMoves > 0 || r.busy == nil {
		return true
	}
	unit := r.units.with(r.l, s.VM)
	for _, h := range [...]cluster.HostID{s.From, s.To} {
		many, took := int64(migrate.Limits{}.Of(&r.c.Hosts[h])), int64(0)
		for _, s.VM = range unit {
			took += migrate.Shared(r.c, s, many)
		}
		if r.busy[h] > 0 && r.busy[h]+took > r.interval()*many {
			return false
		}
	}
	return true
}

// window is what still ends on a pair of hosts before the next round: VMs that write to
// their memory more slowly than the rate, with less memory than most. That is necessary, not
// enough, and far quicker to see than inTime.
type window struct{ most, rate int64 }

func (r *round) window(from, to cluster.HostID) window {
	w := window{math.MaxInt64, 0}
	if r.c.Settings.MostMoves > 0 || !r.pressed(from, to) {
		return w
	}
	for _, h := range [...]cluster.HostID{from, to} {
		if r.busy[h] == 0 {
			continue // one ends in any case
		}
		many := int64(migrate.Limits{}.Of(&r.c.Hosts[h]))
		rate, seconds := migrate.Link(r.c, place.Step{From: from, To: to})/many, max(0, r.interval()*many-r.busy[h]+1)
		high, bytes := bits.Mul64(uint64(rate), uint64(seconds))
		if rate == 0 || high > 0 || bytes > math.MaxInt64 {
			continue
		}
		if w.rate == 0 || rate < w.rate {
			w.rate = rate
		}
		w.most = min(w.most, int64(bytes))
	}
	return w
}

// pressed says whether one of two hosts has migrations to make already.
func (r *round) pressed(from, to cluster.HostID) bool {
	return r.busy != nil && r.busy[from]+r.busy[to] > 0
}

// misses says whether a VM's migration does not end in time for certain.
func (w window) misses(memory, dirty int64) bool { return memory >= w.most && dirty < w.rate }

// spend counts the time of a migration on both hosts, or no longer does where sign is -1.
func (r *round) spend(s place.Step, sign int64) {
	for _, h := range [...]cluster.HostID{s.From, s.To} {
		r.busy[h] += sign * migrate.Shared(r.c, s, int64(migrate.Limits{}.Of(&r.c.Hosts[h])))
	}
}
