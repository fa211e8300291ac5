package divvy

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"slices"

	"plimsoll/internal/cluster"
)

// Grant is what a pool or a machine gets of one resource of a host: MHz or bytes.
type Grant struct {
	Reservation int64
	Limit       int64 // cluster.Unlimited without one
	Shares      int64
}

// HostPool is a host's copy of a pool. Its id stays the same when the pool is renamed or
// goes to another parent.
type HostPool struct {
	ID, Parent cluster.PoolID // the parent of the root is cluster.Nowhere
	Name       string
	CPU, Mem   Grant
}

// HostVM is a machine in a host's copy of the pools.
type HostVM struct {
	VM       cluster.VMID
	Pool     cluster.PoolID
	CPU, Mem Grant
}

// HostTree is a host's copy of the pools: those that have machines there.
type HostTree struct {
	Pools []HostPool // by id; one of them is the root
	VMs   []HostVM   // by id

	digests map[cluster.PoolID]digest // where they were worked out in advance
}

func (p *HostPool) grant(r Resource) *Grant {
	if r == CPU {
		return &p.CPU
	}
	return &p.Mem
}

func (v *HostVM) grant(r Resource) *Grant {
	if r == CPU {
		return &v.CPU
	}
	return &v.Mem
}

// Equal says whether two trees hold the same.
func (t *HostTree) Equal(o *HostTree) bool {
	return slices.Equal(t.Pools, o.Pools) && slices.Equal(t.VMs, o.VMs)
}

func (t *HostTree) pool(id cluster.PoolID) (int, bool) {
	return slices.BinarySearchFunc(t.Pools, id, func(p HostPool, id cluster.PoolID) int { return cmp.Compare(p.ID, id) })
}

// Check says what a host could not accept: lists that are not in order, parents that are
// not there, and pools that reserve less than what is in them.
func (t *HostTree) Check() error {
	root := 0
	for i := range t.Pools {
		p := &t.Pools[i]
		if i > 0 && t.Pools[i-1].ID >= p.ID {
			return fmt.Errorf("pool %d is listed out of order or twice: list pools by id", p.ID)
		}
		if p.Parent == cluster.Nowhere {
			root++
		}
		if err := checkGrants(p.CPU, p.Mem); err != nil {
			return fmt.Errorf("pool %d: %w", p.ID, err)
		}
	}
	if root != 1 {
		return fmt.Errorf("%d pools have no parent: exactly one must be the root", root)
	}
	for i := range t.VMs {
		v := &t.VMs[i]
		if i > 0 && t.VMs[i-1].VM >= v.VM {
			return fmt.Errorf("machine %d is listed out of order or twice: list machines by id", v.VM)
		}
		if err := checkGrants(v.CPU, v.Mem); err != nil {
			return fmt.Errorf("machine %d: %w", v.VM, err)
		}
	}
	return t.checkSums()
}

func checkGrants(grants ...Grant) error {
	for _, g := range grants {
		if g.Reservation < 0 || g.Reservation > mostAmount {
			return fmt.Errorf("a reservation of %d is not between 0 and %d", g.Reservation, int64(mostAmount))
		}
	}
	return nil
}

func (t *HostTree) checkSums() error {
	used := make([]cluster.Resources, len(t.Pools))
	add := func(what string, id int32, parent cluster.PoolID, g cluster.Resources) error {
		at, found := t.pool(parent)
		if !found {
			return fmt.Errorf("%s %d is in pool %d, which is not there", what, id, parent)
		}
		used[at] = asResources(plus(used[at].CPU, g.CPU), plus(used[at].Memory, g.Memory))
		return nil
	}
	for i := range t.Pools {
		p := &t.Pools[i]
		if p.Parent == cluster.Nowhere {
			continue
		}
		if err := add("pool", int32(p.ID), p.Parent, asResources(p.CPU.Reservation, p.Mem.Reservation)); err != nil {
			return err
		}
		up := i
		for range t.Pools {
			if t.Pools[up].Parent == cluster.Nowhere {
				break
			}
			if up, _ = t.pool(t.Pools[up].Parent); up == i || up == len(t.Pools) {
				return fmt.Errorf("pool %d is inside itself or nowhere", p.ID)
			}
		}
	}
	for i := range t.VMs {
		v := &t.VMs[i]
		if err := add("machine", int32(v.VM), v.Pool, asResources(v.CPU.Reservation, v.Mem.Reservation)); err != nil {
			return err
		}
	}
	for i, u := range used {
		if p := &t.Pools[i]; !u.Fits(asResources(p.CPU.Reservation, p.Mem.Reservation)) {
			return fmt.Errorf("pool %d reserves %d MHz and %d bytes, less than the %d MHz and %d bytes reserved in it", p.ID, p.CPU.Reservation, p.Mem.Reservation, u.CPU, u.Memory)
		}
	}
	return nil
}

// branches is a tree by parent.
type branches struct {
	pools map[cluster.PoolID][]*HostPool
	vms   map[cluster.PoolID][]*HostVM
	root  *HostPool
}

func (t *HostTree) branches() *branches {
	b := &branches{pools: map[cluster.PoolID][]*HostPool{}, vms: map[cluster.PoolID][]*HostVM{}}
	for i := range t.Pools {
		p := &t.Pools[i]
		if p.Parent == cluster.Nowhere {
			b.root = p
			continue
		}
		b.pools[p.Parent] = append(b.pools[p.Parent], p)
	}
	for i := range t.VMs {
		v := &t.VMs[i]
		b.vms[v.Pool] = append(b.vms[v.Pool], v)
	}
	return b
}

// digest sums up all that is in a pool, and where it is, so that equal parts of two trees
// need not be looked at (FNV-1a, 128 bit).
type digest [16]byte

func (b *branches) digests() map[cluster.PoolID]digest {
	into := map[cluster.PoolID]digest{}
	b.digest(b.root, into, fnv.New128a)
	return into
}

func (b *branches) digest(p *HostPool, into map[cluster.PoolID]digest, fresh func() hash.Hash) digest {
	var row []byte
	number := func(list ...int64) {
		for _, n := range list {
			row = binary.LittleEndian.AppendUint64(row, uint64(n))
		}
	}
	grants := func(a, b Grant) {
		number(a.Reservation, a.Limit, a.Shares, b.Reservation, b.Limit, b.Shares)
	}
	number(int64(p.ID), int64(p.Parent), int64(len(p.Name)))
	row = append(row, p.Name...)
	grants(p.CPU, p.Mem)
	number(int64(len(b.pools[p.ID])))
	for _, k := range b.pools[p.ID] {
		d := b.digest(k, into, fresh)
		row = append(row, d[:]...)
	}
	for _, v := range b.vms[p.ID] {
		number(int64(v.VM))
		grants(v.CPU, v.Mem)
	}
	h := fresh()
	h.Write(row)
	d := digest(h.Sum(nil))
	into[p.ID] = d
	return d
}
