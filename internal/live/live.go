// Package live is the contract of live clusters: their inventory, load and events as steps of
// the cluster model, and the changes that plimsoll makes to them.
package live

import (
	"context"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/policy"
	"plimsoll/internal/cluster/topology"
)

// Kind is a management interface of clusters, such as vSphere's. The catalog lists them.
type Kind struct {
	Scheme string // of its addresses, such as "vsphere"
	Doc    string
	// Example is an address, for help texts.
	Example string
	// Open connects and authenticates. It changes nothing. An error of the user is a Mistake.
	Open func(ctx context.Context, at Address) (Connection, error)
}

// Connection is an open connection to a live cluster.
type Connection struct {
	Source Source
	Hand   Hand
	Shaper Shaper // nil if virtual topologies of VMs cannot be changed
	// Identity is the platform's identity of the cluster, or of its hosts, independent of the
	// address. Two connections with an identity in common can change the same VMs.
	Identity []string
	// MostMoves is the maximum number of concurrent moves of a host, besides the limit by its
	// link's speed; 0 is 8, as for vSphere.
	MostMoves int
	// Policies reads the storage policies of the VMs; nil if the platform has none.
	Policies func(context.Context) (*policy.Inventory, error)
	Close    func() error
}

// Source reads a live cluster.
type Source interface {
	// Watch reports the whole cluster first, as it is after every confirmed move, and then
	// each change, until the context ends or report returns an error, which it returns. It
	// reports a lost control plane as an event, reconnects with growing pauses, reports the
	// return, and continues with the changes since. An error of its own is permanent, such as
	// revoked access.
	Watch(ctx context.Context, report func(Step) error) error
}

// Hand changes a live cluster. VMs and hosts have their names in the model.
type Hand interface {
	// Missing lists the privileges that an action requires and the account lacks, each with
	// its object.
	Missing(ctx context.Context, a Action) ([]string, error)
	// Move migrates a running VM live, or relocates one that is off, and returns once the
	// control plane has confirmed the VM on its new host. When the context ends, the migration
	// is cancelled if the platform can do so.
	Move(ctx context.Context, vm, to string) error
	// Maintain puts a host into maintenance, or takes it out. Entering returns once the host
	// is in maintenance; running VMs must have left it.
	Maintain(ctx context.Context, host string, enter bool) error
	// Power starts a VM that is off, on a host, and returns once the control plane has confirmed
	// it there. With an empty host it asks the guest of a running VM to shut down, and returns once
	// the VM is off. It never cuts the power of a guest.
	Power(ctx context.Context, vm, on string) error
}

// Shaper changes the virtual topologies of VMs.
type Shaper interface {
	// Shapes reads those of VMs, by their names in the model. Deleted VMs are skipped.
	Shapes(ctx context.Context, vms []string) (map[string]Shape, error)
	// Reshape changes the topology of a VM that is off, if it still has the former one. It
	// returns once the control plane has confirmed the change.
	Reshape(ctx context.Context, vm string, from, to topology.Setting) error
}

// Shape is the configured virtual topology of a VM.
type Shape struct {
	topology.Present
	// Busy is why it cannot be changed at present, such as "it runs"; empty if it can.
	Busy string
	// Fixed is why it is never changed, whether the VM runs or not, such as "its nodes are set
	// by hand"; empty if it may be.
	Fixed string
}

// Action is an action with its own required privileges.
type Action string

// The actions.
const (
	Read     Action = "read"
	Move     Action = "move"
	Maintain Action = "maintain"
	Power    Action = "power" // on or off
	Reshape  Action = "reshape"
	Comply   Action = "comply" // read storage policies
)

// Step is a live cluster at one time.
type Step struct {
	At time.Time
	// Cluster is the state. It is never changed after the report: each step has its own, which
	// shares unchanged parts with its predecessor. Names of VMs and of hosts are unique; to
	// duplicates the platform's identifier is appended, as in "web (vm-42)": see Unique. The
	// demand of VMs has every sample since the watch began, and earlier ones that the platform
	// keeps.
	Cluster *cluster.Cluster
	Events  []Event // since the previous step, oldest first
}

// Event is an event of a live cluster.
type Event struct {
	At   time.Time
	Kind EventKind
	VM   string // empty for events of hosts and of the control plane
	Host string // of the event; of a move, the destination
	From string // of a move, the source
	By   string // the account or component that caused it; empty if unknown
	Text string // the platform's own message, for display
}

// EventKind is a kind of events.
type EventKind string

// The kinds of events.
const (
	VMMoved      EventKind = "vm-moved"
	VMStarted    EventKind = "vm-started"
	VMStopped    EventKind = "vm-stopped"
	VMRestarted  EventKind = "vm-restarted" // on another host, after its own failed
	VMAdded      EventKind = "vm-added"
	VMRemoved    EventKind = "vm-removed"
	HostChanged  EventKind = "host-changed" // its state; Text has the former and the new one
	TaskFailed   EventKind = "task-failed"
	ControlLost  EventKind = "control-lost" // the control plane does not respond, or that of the host if there is one
	ControlBack  EventKind = "control-back"
	OtherMessage EventKind = "message"
)
