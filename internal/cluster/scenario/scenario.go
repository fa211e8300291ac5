// Package scenario holds the events of a cluster over time: demand of VMs, failures and
// maintenance of hosts, arrivals and departures of VMs. Package replay runs it.
package scenario

import "plimsoll/internal/cluster"

// Step is the interval between changes of demand, in seconds.
const Step = 20

// Scenario is a cluster with its events. It is immutable once read.
type Scenario struct {
	Name    string
	What    string // description, in a sentence
	Cluster *cluster.Cluster
	Length  int64 // seconds
	Demand  Demand
	Events  []Event // by time
}

// Demand is the demand of VMs.
type Demand interface {
	// At is the demand of a VM from a second on, until the next multiple of Step.
	At(v cluster.VMID, second int64) Sample
}

// Sample is a VM's demand at one time.
type Sample struct {
	CPU    int64 // MHz
	Active int64 // active memory in bytes
	Dirty  int64 // dirtied memory in bytes per second
}

// Event is a change at one time.
type Event struct {
	At     int64 // second
	Kind   EventKind
	Hosts  []cluster.HostID
	VMs    []cluster.VMID
	Rules  []cluster.RuleID
	State  cluster.HostState // new state of the hosts
	Enable bool              // enable or disable the rules
}

// EventKind is the kind of an event.
type EventKind uint8

// The kinds of events.
const (
	HostEvent   EventKind = iota // hosts change state
	ArriveEvent                  // VMs are to be started
	DepartEvent                  // VMs are deleted
	RuleEvent                    // rules are enabled or disabled
)
