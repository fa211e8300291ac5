package worth

import (
	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/contention"
)

const million = 1_000_000

// HostPair weighs moves from one host to another.
type HostPair struct {
	d        *draft.Draft
	from, to cluster.HostID
	a, b     *draft.Host // the two hosts
}

// Offer is a unit whose departure improves its host. The merit of its move is the offer's
// merit minus the loss of the target, which is never negative.
type Offer struct {
	VM    cluster.VMID // the first of the unit
	Asks  cluster.Resources
	Merit int64 // decrease of the host's demerit, or of its cost, in MHz
	Gain  int64 // decrease of the host's cost, in MHz
	Need  int64 // the minimum gain of a move to any target, in MHz
	Has   int64 // score of the unit on the host, in millionths

	Memory, Dirty int64 // of the VM with the most memory: memory, and dirty rate
}

// NewLane is the lane between two hosts.
func NewLane(d *draft.Draft, from, to cluster.HostID) HostPair {
	return HostPair{d, from, to, &d.Hosts[from], &d.Hosts[to]}
}

// Merit is the improvement by a move: the decrease of the hosts' demerits, or of wasted MHz
// if the VM's own score rises.
func (n *HostPair) Merit(v cluster.VMID) int64 {
	o, _ := n.Offer(v)
	merit, _ := n.Take(&o)
	return merit
}

// Offer is the offer of a VM of the source, with its unit.
func (n *HostPair) Offer(v cluster.VMID) (Offer, []cluster.VMID) {
	d := n.d
	vms := d.Units.With(d.Layout, v)
	o := Offer{VM: v, Asks: d.Demand(vms)}
	after := n.a.Demand.Minus(o.Asks)
	if d.Model.ByScore {
		o.Gain = n.a.Cost - d.Model.Costs(n.from, after, n.a.Burden.Plus(d.Burden(vms, n.from), -1))
		o.Merit, o.Has = o.Gain, n.has(vms)
		return o, vms
	}
	demerit, cost := d.Model.Demerit(n.from, after)
	o.Merit, o.Gain = n.a.Demerit-demerit, n.a.Cost-cost
	return o, vms
}

// Take is the merit of moving an offer to the target, and the decrease of both hosts' costs,
// in MHz.
func (n *HostPair) Take(o *Offer) (merit, gain int64) {
	d := n.d
	more := n.b.Demand.Plus(o.Asks)
	if !d.Model.ByScore {
		demerit, cost := d.Model.Demerit(n.to, more)
		return o.Merit - demerit + n.b.Demerit, o.Gain - cost + n.b.Cost
	}
	if million-n.b.Loss <= o.Has {
		return 0, 0 // the VM itself only adds to the loss there
	}
	will, joined := n.score(d.Units.With(d.Layout, o.VM), o.Asks)
	if will <= o.Has {
		return 0, 0
	}
	merit = o.Merit - d.Model.Costs(n.to, more, joined) + n.b.Cost
	return merit, merit
}

// Raise is the rise of the score of a VM and its unit.
func (n *HostPair) Raise(v cluster.VMID) int64 {
	vms := n.d.Units.With(n.d.Layout, v)
	will, _ := n.score(vms, n.d.Demand(vms))
	return will - n.has(vms)
}

// has is the score of VMs on the source.
func (n *HostPair) has(vms []cluster.VMID) int64 { return n.d.ScoreOf(vms, n.from, n.a.Loss) }

// score is the score of VMs on the target, and the target's burden with them.
func (n *HostPair) score(vms []cluster.VMID, asks cluster.Resources) (will int64, joined contention.OtherDemand) {
	d := n.d
	if len(vms) == 1 { // by far the most frequent case, at half the cost
		vm := &d.Cluster.VMs[vms[0]]
		far := contention.RemoteLoss(vm, &d.Cluster.Hosts[n.to])
		joined = n.b.Burden.Plus(contention.OtherDemand{Link: vm.Demand.Link, Remote: contention.Part(asks.CPU, far)}, 1)
		return contention.Part(million-d.Model.HostLoss(n.to, n.b.Demand.Plus(asks), joined), million-far), joined
	}
	joined = n.b.Burden.Plus(d.Burden(vms, n.to), 1)
	return d.ScoreOf(vms, n.to, d.Model.HostLoss(n.to, n.b.Demand.Plus(asks), joined)), joined
}

// Offers appends, in no order, the units of a host that may move, would relieve it, and are
// accepted.
func Offers(d *draft.Draft, from cluster.HostID, list []Offer, accept func([]cluster.VMID, *Offer) bool) []Offer {
	if !d.Loaded(from) {
		return list
	}
	n := NewLane(d, from, from)
	for _, v := range d.Layout.On(from) {
		if !d.MayMove(v) {
			continue
		}
		o, vms := n.Offer(v)
		if o.Merit <= 0 || vms[0] != v || len(vms) > 1 && !d.MayAllMove(vms) {
			continue
		}
		list = append(list, o) // a variable captured by accept would escape to the heap
		if last := len(list) - 1; !accept(vms, &list[last]) {
			list = list[:last]
		}
	}
	return list
}
