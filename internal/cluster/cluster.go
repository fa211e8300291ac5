// Package cluster is the model of a cluster of hosts: VMs, resource
// pools, rules and what was seen of demand. The packages below it decide: divvy hands
// out capacity, place and balance say where VMs run, policy and topology check
// how they are set up, replay runs them in virtual time.
//
// The model is plain data, indexed by small integers. All amounts are whole numbers,
// so that a decision is the same on every VM: MHz and bytes. Where VMs run
// is not part of it but of a Layout, which can be changed step by step and is cheap
// to copy.
package cluster

import "math"

// HostID, VMID, PoolID and RuleID are places in the lists of a Cluster.
type (
	HostID int32
	VMID   int32
	PoolID int32
	RuleID int32
)

// Nowhere is the host of a VM that runs on none, and the parent of the root pool.
const Nowhere = -1

// Unlimited is the limit of an allocation that has none.
const Unlimited = math.MaxInt64

// Cluster is the inventory. Its lists are in the order of the snapshot; Pools[0] is the
// root, and every other pool follows its parent. It is immutable after the checks, but for an Editor.
type Cluster struct {
	Name       string
	At         string // when it was seen, RFC 3339; empty where that is not known
	Hosts      []Host
	VMs        []VM
	Pools      []Pool
	Rules      []Rule
	Networks   []string // names, which hosts and VMs have the indexes of
	Datastores []string
	Settings   Settings
}

// Resources is an amount of both kinds.
type Resources struct {
	CPU    int64 // MHz
	Memory int64 // bytes
}

// Plus is the sum.
func (r Resources) Plus(o Resources) Resources { return Resources{r.CPU + o.CPU, r.Memory + o.Memory} }

// Minus is the difference, which may be below 0.
func (r Resources) Minus(o Resources) Resources {
	return Resources{r.CPU - o.CPU, r.Memory - o.Memory}
}

// Fits reports whether both amounts are at most those of another.
func (r Resources) Fits(in Resources) bool { return r.CPU <= in.CPU && r.Memory <= in.Memory }

// Settings are the operator's settings of the cluster.
type Settings struct {
	Model        Model
	Level        int  // 1 to 5: how small an imbalance is worth a move; 1 moves only where it must
	Headroom     int  // per mille of each host that demand should leave free
	SpareHosts   int  // hosts that may fail while every VM still has its reservation; 0 without admission control
	MostMoves    int  // moves in one plan at most; 0 leaves it to the time that moves take
	CostBenefit  bool // a move must gain more than it costs
	Consumed     bool // memory demand is consumed memory, not active memory
	ScalablePool bool // shares of pools scale with their VMs
}

// DefaultSettings are the settings of a cluster without any.
func DefaultSettings() Settings {
	return Settings{Model: ByDeviation, Level: 3, Headroom: 20, CostBenefit: true}
}

// Model is the definition of a balanced cluster.
type Model string

// The models. Any other value counts as the first.
const (
	ByDeviation Model = "deviation" // the hosts' loads lie close together
	ByScore     Model = "score"     // no VM would run much better on another host
)
