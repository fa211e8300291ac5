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

// The reasons of moves, in the order in which a round looks for them.
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

// Plan is the moves of a round, in an order of which no prefix of whole steps breaks a hard
// constraint that held before.
type Plan struct {
	Moves         []Move
	Stranded      []Stranded // VMs that must leave their host and that no other can run
	Refused       []Refused  // the best moves that were not made
	Quiet         string     // why no further move is made for load balance
	Before, After Balance
}

// Move is the move of one VM to another host.
type Move struct {
	place.Step
	Number int // of the step: VMs that stay together move in one step
	Reason Reason
	Rule   cluster.RuleID // the rule that the move repairs, or Nowhere
	Value  Value          // of a move for load balance
	// Relieves is the host that a move for load balance relieves. It is not the one that the VM
	// leaves where VMs change places.
	Relieves cluster.HostID
	Partner  cluster.VMID // the VM to change places with for load balance, or Nowhere
	// Loads of both hosts before and after, in millionths of the capacity, of the fuller resource.
	FromBefore, FromAfter, ToBefore, ToAfter int64
	// Note completes the reason: which VMs move along, or where the VM waits for its place.
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

// Unmet is a VM that violates a should-rule after a round, with the objection to each host on which it would not.
type Unmet struct {
	VM    cluster.VMID
	Rule  cluster.RuleID
	Why   string // why it may not move at all, or empty
	Hosts []Objection
}

// Objection is why a VM does not run on a host: an obstacle, or a reason in words.
type Objection struct {
	Host     cluster.HostID
	Obstacle cluster.Obstacle
	Loss     int64  // the demand that VMs would lose there, in MHz, if that is why
	Why      string // empty where there is an obstacle, or no objection to the host
}

// Refused is a move that would improve the balance, and the reason why it is not made.
type Refused struct {
	place.Step
	Value Value
	Why   string
}

// Balance measures how evenly a layout is loaded.
type Balance struct {
	Deviation contention.Pair // standard deviation of the hosts' loads, in millionths
	Spread    contention.Pair // highest load minus the lowest
	Lost      int64           // demand that is slowed down or not served, in MHz
	// Score is the mean of the VMs' scores, weighted by demand, in millionths. It is a million
	// where each VM gets its whole demand undisturbed. Both models report it.
	Score int64
}

// Options are the inputs of a round besides the cluster.
type Options struct {
	// Cooling is the refusal of a VM that moved recently and must stay; nil for none.
	Cooling func(cluster.VMID) bool
	// Left is the refusal of a host that the VM left recently; nil for none.
	Left func(cluster.VMID, cluster.HostID) bool
	// Interval is the time until the next round, in seconds, in which the migrations of this one
	// should end; 0 is 300.
	Interval int64
}
