package hosttree

import (
	"fmt"

	"plimsoll/internal/cluster"
)

// why is a kind of obstacle.
type why uint8

const (
	nothing why = iota
	unknownVerb
	badID
	noPool
	noVM
	poolThere
	vmThere
	isRoot
	notEmpty
	insideItself
	badGrant
	tooSmall
	noRoom
)

// obstacle is why a host would reject an operation. It is cheap to make, since Diff tries many
// operations; only Error formats it.
type obstacle struct {
	why        why
	resource   cluster.Resource
	id         int32 // of a pool or a VM
	need, have int64 // MHz, bytes or a number
}

// Error is the obstacle with what to do about it.
func (o obstacle) Error() string {
	switch o.why {
	case unknownVerb:
		return "unknown operation: use one of the verbs"
	case badID:
		return fmt.Sprintf("pool id %d: must be above 0", o.id)
	case noPool:
		return fmt.Sprintf("pool %d does not exist: create it first", o.id)
	case noVM:
		return fmt.Sprintf("VM %d does not exist: enter it first", o.id)
	case poolThere:
		return fmt.Sprintf("pool %d already exists: change or move it", o.id)
	case vmThere:
		return fmt.Sprintf("VM %d already exists: change or move it", o.id)
	case isRoot:
		return "the root can be changed, but not moved or destroyed"
	case notEmpty:
		return fmt.Sprintf("it contains %d pools and VMs: move or destroy them first", o.need)
	case insideItself:
		return fmt.Sprintf("it contains pool %d: move that one out first", o.id)
	case badGrant:
		return fmt.Sprintf("a %v reservation of %d and a limit of %d: must be 0 <= reservation <= limit, at most %d, with shares above 0", o.resource, o.need, o.have, int64(mostReserved))
	case tooSmall:
		return fmt.Sprintf("it reserves %d of %v, less than the %d reserved by its children: lower these first", o.have, o.resource, o.need)
	case noRoom:
		return fmt.Sprintf("pool %d has %d of its %v reservation left, but %d are needed: raise it first", o.id, o.have, o.resource, o.need)
	}
	return "no obstacle"
}

// mostReserved keeps sums from overflowing.
const mostReserved = 1 << 62

// grants validates grants without regard to their pool.
func grants(cpu, mem Grant) obstacle {
	for _, r := range cluster.BothResources {
		g := cpu
		if r == cluster.Memory {
			g = mem
		}
		if g.Reservation < 0 || g.Reservation > mostReserved || g.Limit < g.Reservation || g.Shares < 1 {
			return obstacle{why: badGrant, resource: r, need: g.Reservation, have: g.Limit}
		}
	}
	return obstacle{}
}

// fits reports whether a pool with these grants covers the reservations of its children.
func fits(cpu, mem Grant, used cluster.Resources) obstacle {
	switch {
	case used.CPU > cpu.Reservation:
		return obstacle{why: tooSmall, need: used.CPU, have: cpu.Reservation}
	case used.Memory > mem.Reservation:
		return obstacle{why: tooSmall, resource: cluster.Memory, need: used.Memory, have: mem.Reservation}
	}
	return obstacle{}
}
