// Package cluster is the model of a cluster of hosts: VMs, resource pools, rules and observed
// demand. The packages below it decide: divvy divides capacity, place and balance choose hosts
// for VMs, policy and topology check configurations, replay simulates in virtual time.
//
// The model is plain data, indexed by small integers. All amounts are integers, MHz and bytes,
// so that a decision does not depend on the CPU that computes it. The hosts of VMs are not
// part of it but of a Layout, which can be changed step by step and is cheap to copy.
package cluster

import "math"

// HostID, VMID, PoolID and RuleID are indexes of the lists of a Cluster.
type (
	HostID int32
	VMID   int32
	PoolID int32
	RuleID int32
)

// Nowhere is the host of a VM that is not running, and the parent of the root pool.
const Nowhere = -1

// Unlimited is the limit of an allocation without limit.
const Unlimited = math.MaxInt64

// Cluster is the inventory. Its lists are in the order of the snapshot; Pools[0] is the root,
// and every other pool follows its parent. Once checked, only an Editor changes it.
type Cluster struct {
	Name       string
	At         string // time of the snapshot, RFC 3339; empty if unknown
	Hosts      []Host
	VMs        []VM
	Pools      []Pool
	Rules      []Rule
	Networks   []string // names, in which hosts and VMs hold indexes
	Datastores []string
	Settings   Settings
}

// Resources is an amount of CPU and of memory.
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

// Fits reports whether neither amount exceeds that of another.
func (r Resources) Fits(in Resources) bool { return r.CPU <= in.CPU && r.Memory <= in.Memory }

// Settings are the operator's settings of the cluster.
type Settings struct {
	Model        Model
	Level        int  // migration threshold, 1 to 5; 1 makes mandatory moves only
	Headroom     int  // per mille of each host to keep free of demand
	SpareHosts   int  // host failures to tolerate with all reservations kept; 0 without admission control
	MostMoves    int  // maximum moves of a plan; 0: as many as the time of migrations allows
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
	ByDeviation Model = "deviation" // the hosts' loads are similar
	ByScore     Model = "score"     // no VM would score much higher on another host
)
