// Package scenario holds the events of a cluster over time: demand of VMs, failures and
// maintenance of hosts, arrivals and departures of VMs. Package replay runs it.
package scenario

import "plimsoll/internal/cluster"

// Step is for how long demand stays as it is, in seconds.
const Step = 20

// Scenario is a cluster with its events. It is immutable after it is read.
type Scenario struct {
	Name    string
	What    string // it is about, in a sentence
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

// Sample is a VM's demand at an instant.
type Sample struct {
	CPU    int64 // MHz
	Active int64 // bytes of memory that it uses
	Dirty  int64 // bytes of memory that it writes to each second
}

// Event changes something at an instant.
type Event struct {
	At     int64 // second
	Kind   EventKind
	Hosts  []cluster.HostID
	VMs    []cluster.VMID
	Rules  []cluster.RuleID
	State  cluster.HostState // that hosts get
	Enable bool              // rules hold from now on, or no longer
}

// EventKind is the kind of an event.
type EventKind uint8

// The kinds of events.
const (
	HostEvent   EventKind = iota // hosts get another state
	ArriveEvent                  // VMs are to be started
	DepartEvent                  // VMs are gone
	RuleEvent                    // rules hold from now on, or no longer
)
