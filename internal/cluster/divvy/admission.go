package divvy

import (
	"fmt"
	"math/bits"
	"slices"

	"plimsoll/internal/cluster"
)

// Ledger records the reservations admitted to each pool. A VM reserves from the unreserved
// capacity of its pool. An expandable pool takes the shortfall from its parent, and so on up
// to the first pool that is not expandable. The reservation of a pool is taken from its parent
// whether used or not, so a sibling that is not expandable keeps its own.
//
// Source: "vSphere Web Services SDK Programming Guide", resource pool admission control.
type Ledger struct {
	c        *cluster.Cluster
	x        *cluster.Index
	tree     tree // of the pools alone
	capacity cluster.Resources
	pools    [2][]cluster.Allocation
	used     [2][]int64 // by pool: reservations of its children
	most     int64      // maximum reservation of a child, so that no sum overflows
	admitted []bool
}

// NewLedger is the ledger of a capacity and of the running VMs: those with a host if running
// is nil. It enters them without a check, since they run already.
func NewLedger(c *cluster.Cluster, x *cluster.Index, capacity cluster.Resources, running func(cluster.VMID) bool) *Ledger {
	l := &Ledger{c: c, x: x, tree: poolTree(c, 0), capacity: capacity, admitted: make([]bool, len(c.VMs))}
	l.open(l.bound(len(c.VMs)))
	for i := range c.VMs {
		if v := cluster.VMID(i); running == nil && c.VMs[i].Host != cluster.Nowhere || running != nil && running(v) {
			l.Take(v)
		}
	}
	return l
}

// bound is the maximum reservation of a child among so many VMs.
func (l *Ledger) bound(vms int) int64 { return mostAmount >> bits.Len(uint(l.tree.pools+vms)) }

// open enters the reservations of the pools and of the admitted VMs.
func (l *Ledger) open(most int64) {
	l.most = most
	for _, r := range cluster.BothResources {
		l.pools[r] = newSide(l.c, &l.tree, r).pools
		l.used[r] = make([]int64, l.tree.pools)
		for p := range l.pools[r] {
			l.pools[r][p].Reservation = min(l.pools[r][p].Reservation, l.most)
		}
		all := within(r.Of(l.capacity))
		l.pools[r][0] = cluster.Allocation{Reservation: all, Limit: all}
		for p := l.tree.pools - 1; p > 0; p-- {
			l.charge(r, l.tree.parent[p], l.pools[r][p].Reservation)
		}
		for v, in := range l.admitted {
			if in {
				l.charge(r, l.pool(cluster.VMID(v)), l.needs(r, cluster.VMID(v)))
			}
		}
	}
}

// pool is the pool of a VM.
func (l *Ledger) pool(v cluster.VMID) int32 { return under(l.c.VMs[v].Pool, l.tree.pools) }

// Add extends the ledger for a VM that was added to the cluster.
func (l *Ledger) Add(v cluster.VMID) {
	l.admitted = slices.Insert(l.admitted, int(v), false)
	if most := l.bound(len(l.admitted)); most != l.most {
		l.open(most)
	}
}

// Remove drops a VM that is about to be deleted from the cluster.
func (l *Ledger) Remove(v cluster.VMID) {
	l.Drop(v)
	if most := l.bound(len(l.admitted) - 1); most != l.most {
		l.open(most)
	}
	l.admitted = slices.Delete(l.admitted, int(v), int(v)+1)
}

// claimed is the amount that a pool takes from its parent.
func (l *Ledger) claimed(r cluster.Resource, p int32) int64 {
	a := &l.pools[r][p]
	if a.Expandable {
		return max(a.Reservation, l.used[r][p])
	}
	return a.Reservation
}

// charge adds to the used reservation of a pool and of the pools from which it borrows. The
// amount may be negative.
func (l *Ledger) charge(r cluster.Resource, p int32, amount int64) {
	for amount != 0 && p >= 0 {
		before := l.claimed(r, p)
		l.used[r][p] += amount
		amount = l.claimed(r, p) - before
		p = l.tree.parent[p]
	}
}

// needs is the reservation of a VM.
func (l *Ledger) needs(r cluster.Resource, v cluster.VMID) int64 {
	return min(within(r.Of(l.x.Reserved(v))), l.most)
}

// Take enters a VM without a check. A VM is entered once. It must be dropped before its pool
// or its reservation changes.
func (l *Ledger) Take(v cluster.VMID) { l.enter(v, true) }

// Drop removes a VM.
func (l *Ledger) Drop(v cluster.VMID) { l.enter(v, false) }

func (l *Ledger) enter(v cluster.VMID, in bool) {
	if l.admitted[v] == in {
		return
	}
	l.admitted[v] = in
	for _, r := range cluster.BothResources {
		amount := l.needs(r, v)
		if !in {
			amount = -amount
		}
		l.charge(r, l.pool(v), amount)
	}
}

// Refusal is why a VM's reservation does not fit; Admitted is true if it does.
type Refusal struct {
	Admitted bool
	Pool     cluster.PoolID // the first pool that refuses
	Resource cluster.Resource
	Need     int64 // of that pool: MHz or bytes, less what the pools below provide
	Have     int64 // unreserved
	Limit    bool  // the pool's limit refuses, not its reservation
}

// Admit reports whether the reservation of a VM that is not entered yet fits into its pool:
// CPU first, then memory with overhead. It enters nothing. A reservation of 0 is always
// admitted.
func (l *Ledger) Admit(v cluster.VMID) Refusal {
	for _, r := range cluster.BothResources {
		if no := l.admit(r, l.pool(v), l.needs(r, v)); !no.Admitted {
			return no
		}
	}
	return Refusal{Admitted: true}
}

// Admits is Admit with the reason as text.
func (l *Ledger) Admits(v cluster.VMID) (ok bool, why string) {
	no := l.Admit(v)
	return no.Admitted, no.Text(l.c)
}

func (l *Ledger) admit(r cluster.Resource, p int32, need int64) Refusal {
	for ; need > 0; p = l.tree.parent[p] {
		a, used := &l.pools[r][p], l.used[r][p]
		if used+need <= a.Reservation {
			break
		}
		no := Refusal{Pool: cluster.PoolID(p), Resource: r, Need: need, Have: max(0, a.Reservation-used)}
		if !a.Expandable || p == 0 {
			return no
		}
		if used+need > a.Limit {
			no.Have, no.Limit = max(0, a.Limit-used), true
			return no
		}
		need = used + need - max(a.Reservation, used)
	}
	return Refusal{Admitted: true}
}

// Text is the refusal for users.
func (f Refusal) Text(c *cluster.Cluster) string {
	if f.Admitted {
		return "its reservation fits"
	}
	name, kind := "the cluster", "capacity"
	if int(f.Pool) < len(c.Pools) && f.Pool > 0 {
		name, kind = "the pool "+c.Pools[f.Pool].Name, "reservation"
	}
	if f.Limit {
		kind = "limit"
	}
	if f.Resource == cluster.CPU {
		return fmt.Sprintf("%s has %d MHz of its CPU %s left, but %d MHz are needed", name, f.Have, kind, f.Need)
	}
	return fmt.Sprintf("%s has %s of its memory %s left, but %s are needed", name, cluster.MiB(f.Have), kind, cluster.MiB(f.Need))
}
