package load

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/internal/cluster"
)

// Usage is demand and usage of VMs, at one time or on average.
type Usage struct {
	On        float64 // running VMs
	VCPUs     float64
	Demand    float64 // MHz
	Used      float64 // MHz
	Busy      float64 // busy CPUs
	Ready     float64 // CPUs waiting for a core, or by their limit
	CoStop    float64 // CPUs waiting for others of their VM
	Limited   float64 // CPUs waiting by their limit, included in Ready
	Reserved  float64 // MHz
	Memory    float64 // bytes, configured
	Active    float64 // bytes, as all below
	Consumed  float64
	Ballooned float64
	Swapped   float64
	Overhead  float64
	Link      float64 // bit/s
}

// add adds another usage, multiplied.
func (u *Usage) add(o *Usage, times float64) {
	u.On += times * o.On
	u.VCPUs += times * o.VCPUs
	u.Demand += times * o.Demand
	u.Used += times * o.Used
	u.Busy += times * o.Busy
	u.Ready += times * o.Ready
	u.CoStop += times * o.CoStop
	u.Limited += times * o.Limited
	u.Reserved += times * o.Reserved
	u.Memory += times * o.Memory
	u.Active += times * o.Active
	u.Consumed += times * o.Consumed
	u.Ballooned += times * o.Ballooned
	u.Swapped += times * o.Swapped
	u.Overhead += times * o.Overhead
	u.Link += times * o.Link
}

// claim is the claim of a VM to its host.
type claim struct {
	stay             *stay
	wants            float64 // MHz
	floor, most      float64 // MHz: guaranteed, and maximum
	weight           float64
	active, consumed float64 // bytes
	kept             float64 // bytes that cannot be reclaimed
	link             float64
}

// claimOf is the claim of a VM with a demand.
func claimOf(st *stay, s Sample, core float64) claim {
	z := st.size
	c := claim{stay: st, weight: float64(max(1, z.cpu.Shares)), link: float64(max(0, s.Link))}
	c.wants = min(float64(max(0, s.CPU)), float64(z.vcpus)*core)
	c.most = min(c.wants, amount(z.cpu.Limit))
	c.floor = min(c.most, float64(max(0, z.cpu.Reservation)))
	c.consumed = min(float64(max(s.Consumed, s.Active, 0)), float64(z.memory))
	c.active = min(float64(max(0, s.Active)), c.consumed)
	c.kept = min(c.consumed, float64(max(0, z.mem.Reservation)))
	return c
}

// amount is a limit as a number.
func amount(limit int64) float64 {
	if limit < 0 || limit == cluster.Unlimited {
		return math.Inf(1)
	}
	return float64(limit)
}

// division is the division of a host's capacity among its VMs at one time.
type division struct {
	core  float64 // MHz
	level float64 // MHz per share; infinite if all have their maximum
	part  float64 // of the guaranteed amounts, if the host has less; 1 otherwise
	idle  float64 // ballooned part of idle memory
	busy  float64 // swapped part of active memory
}

// divide divides a host among claims: CPU in proportion to shares, between reservations and
// limits. Missing memory is taken from idle memory first.
func divide(h *Host, claims []claim) division {
	d := division{core: h.core(), level: math.Inf(1), part: 1}
	var floors, mosts, held, idle, busy float64
	for i := range claims {
		c := &claims[i]
		floors, mosts = floors+c.floor, mosts+c.most
		held += c.consumed + float64(c.stay.size.overhead)
		free := c.consumed - max(c.active, c.kept)
		idle += free
		busy += max(0, c.active-c.kept)
	}
	room := float64(h.CPU)
	switch {
	case mosts <= room:
	case floors >= room:
		d.level, d.part = 0, room/floors
	default:
		d.level = water(claims, room)
	}
	if short := held - float64(h.Memory); short > 0 {
		if d.idle = 1; short < idle {
			d.idle = short / idle
		}
		if short -= idle; short > 0 && busy > 0 {
			d.busy = min(1, short/busy)
		}
	}
	return d
}

// water is the level at which the claims use exactly the capacity: each gets its weight times
// the level, at least its floor and at most its most.
func water(claims []claim, room float64) float64 {
	type edge struct{ at, weight, fixed float64 } // from here on the weight counts, and the fixed part changes
	edges := make([]edge, 0, 2*len(claims))
	fixed := 0.
	for i := range claims {
		c := &claims[i]
		fixed += c.floor
		edges = append(edges, edge{c.floor / c.weight, c.weight, -c.floor}, edge{c.most / c.weight, -c.weight, c.most})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	weight := 0.
	for _, e := range edges {
		if weight > 0 && fixed+weight*e.at >= room {
			return (room - fixed) / weight
		}
		weight, fixed = weight+e.weight, fixed+e.fixed
	}
	return math.Inf(1)
}

// stopped is the part of a VM's waiting that is co-stop, if it has several vCPUs.
const stopped = .1

// of is the usage of a claim.
func (d *division) of(c *claim) Usage {
	used := min(c.most, max(c.floor, d.level*c.weight)) * d.part
	if d.part == 1 && math.IsInf(d.level, 1) {
		used = c.most
	}
	z := c.stay.size
	u := Usage{
		On: 1, VCPUs: float64(z.vcpus), Demand: c.wants, Used: used, Reserved: float64(z.cpu.Reservation), Memory: float64(z.memory),
		Active: c.active, Overhead: float64(z.overhead), Link: c.link,
	}
	if d.core > 0 {
		u.Busy = used / d.core
		waits := (c.most - used) / d.core
		u.Limited = (c.wants - c.most) / d.core
		if z.vcpus > 1 {
			u.CoStop = stopped * waits
		}
		u.Ready = waits - u.CoStop + u.Limited
	}
	u.Ballooned = d.idle * (c.consumed - max(c.active, c.kept))
	u.Swapped = d.busy * max(0, c.active-c.kept)
	u.Consumed = c.consumed - u.Ballooned - u.Swapped
	u.Active -= u.Swapped
	return u
}
