// Package advice holds the result of a round: recommended moves with their reasons and
// values, VMs that no host can run, and the best moves that were rejected.
package advice

import (
	"slices"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/contention"
	"plimsoll/internal/cluster/place"
)

// Reason is the reason of a move, by the names of recommendation reasons in the vSphere API.
type Reason string

// The reasons of moves, in the order in which a round checks them.
const (
	HostFailed      Reason = "hostFailed"
	HostMaintenance Reason = "hostMaint"
	MustRule        Reason = "vmHostHardAffinity"
	Reservation     Reason = "reservation"
	MakeRoom        Reason = "makeRoom"
	ShouldRule      Reason = "vmHostSoftAffinity"
	FairCPU         Reason = "fairnessCpuAvg"
	FairMemory      Reason = "fairnessMemAvg"
)

// Mandatory reports whether a move is made at any cost.
func (r Reason) Mandatory() bool {
	switch r {
	case HostFailed, HostMaintenance, MustRule, Reservation, MakeRoom:
		return true
	}
	return false
}

// Plan is the ordered moves of a round. No prefix of whole steps breaks a hard constraint that
// held before.
type Plan struct {
	Moves         []Move
	Stranded      []Stranded // VMs that must leave their host and fit on no other
	Refused       []Refused  // the best moves that were not made
	Quiet         string     // why no further move is made for load balance
	Before, After Balance
}

// Move is the migration of one VM to another host.
type Move struct {
	place.Step
	Number int // number of the step: VMs that stay together move in one step
	Reason Reason
	Rule   cluster.RuleID // the rule that the move repairs, or Nowhere
	Value  Value          // for moves for load balance
	// Relieves is the host that a move for load balance relieves. For the second VM of an
	// exchange it is the host that the first leaves.
	Relieves cluster.HostID
	Partner  cluster.VMID // the VM exchanged with for load balance, or Nowhere
	// Loads of both hosts before and after, in millionths of capacity, of the more loaded
	// resource.
	FromBefore, FromAfter, ToBefore, ToAfter int64
	// Note completes the reason: VMs that move along, or the temporary host of a VM.
	Note string
}

// For is a move for a reason, with no rule and no partner.
func For(why Reason) Move {
	return Move{Reason: why, Rule: cluster.Nowhere, Partner: cluster.Nowhere}
}

// Touched lists the hosts of moves.
func Touched(moves []Move) (list []cluster.HostID) {
	for _, m := range moves {
		for _, h := range [...]cluster.HostID{m.From, m.To} {
			if !slices.Contains(list, h) {
				list = append(list, h)
			}
		}
	}
	return list
}

// Stranded is a VM that must leave its host and cannot.
type Stranded struct {
	VM     cluster.VMID
	Reason Reason
}

// Unmet is a VM that violates a should-rule after a round, with the objection to each host
// where it would not.
type Unmet struct {
	VM    cluster.VMID
	Rule  cluster.RuleID
	Why   string // why it may not move, or empty
	Hosts []Objection
}

// Objection is why a VM does not move to a host: an obstacle, or a reason as text.
type Objection struct {
	Host     cluster.HostID
	Obstacle cluster.Obstacle
	Loss     int64  // the demand that VMs would lose there, in MHz, if that is the objection
	Why      string // empty where there is an obstacle, or no objection to the host
}

// Refused is a rejected move that would improve the balance, with the reason.
type Refused struct {
	place.Step
	Value Value
	Why   string
}

// Balance measures how evenly a layout is loaded.
type Balance struct {
	Deviation contention.Pair // standard deviation of the hosts' loads, in millionths
	Spread    contention.Pair // highest load minus the lowest
	Lost      int64           // demand that is delayed or not served, in MHz
	// Score is the mean of the VMs' scores, weighted by demand, in millionths: a million where
	// each VM gets its whole demand undisturbed. Both models report it.
	Score int64
}

// Options are the inputs of a round besides the cluster.
type Options struct {
	// Cooling reports whether a VM moved recently and must stay; nil if none did.
	Cooling func(cluster.VMID) bool
	// Left reports whether a VM left a host recently; nil if none did.
	Left func(cluster.VMID, cluster.HostID) bool
	// Interval is the time until the next round in seconds, the limit for the migrations of
	// this one; 0 is 300.
	Interval int64
	// Mandatory leaves out moves for should-rules and for load.
	Mandatory bool
}
