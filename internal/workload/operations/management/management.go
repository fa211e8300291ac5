// Package management is what the workload operations asks of a platform that manages VMs. The
// implementations are handed in where the program has them, so that agents stay lean.
package management

import (
	"context"
	"strings"
	"time"

	"plimsoll/internal/load"
)

// Kind is a kind of operation.
type Kind string

// The kinds of operations.
const (
	PowerOn         Kind = "power-on"
	PowerOff        Kind = "power-off"
	Suspend         Kind = "suspend"
	Create          Kind = "create"
	Clone           Kind = "clone"
	Delete          Kind = "delete"
	Reconfigure     Kind = "reconfigure"
	Relocate        Kind = "relocate" // of a VM that does not run
	Migrate         Kind = "migrate"  // of a VM that runs
	Snapshot        Kind = "snapshot" // without memory
	Revert          Kind = "revert"   // to the current snapshot
	RemoveSnapshots Kind = "remove-snapshots"
	Register        Kind = "register" // again, after it was taken off the inventory
)

// Kinds lists all kinds.
func Kinds() []Kind {
	return []Kind{PowerOn, PowerOff, Suspend, Create, Clone, Delete, Reconfigure, Relocate, Migrate, Snapshot, Revert, RemoveSnapshots, Register}
}

// Power is the power state of a VM.
type Power string

// The power states.
const (
	On        Power = "on"
	Off       Power = "off"
	Suspended Power = "suspended"
)

// VM is a VM as the platform shows it.
type VM struct {
	ID, Name, Host string
	Power          Power
	Shares         int // CPU shares
	Snapshots      int
	Note           string // its mark, and what its maker wrote below
}

// Size is that of a new VM.
type Size struct {
	CPUs         int
	Memory, Disk int64 // bytes; a disk of 0 is none
}

// Order is an operation to be carried out.
type Order struct {
	Kind Kind
	VM   string // its ID, or that of the source of a clone
	Name string // of a new VM
	From string // host that the VM is on
	Host string // that a VM goes to
	Mark string // note in a new VM: its first lines say whose it is
	Size Size   // of a created VM
	// Shares are the CPU shares that Reconfigure sets.
	Shares int
}

// Outcome is that of an operation that succeeded.
type Outcome struct {
	VM string // ID of a new VM
	// Queued and Ran are how long the operation waited for its start and then ran, by the clock of
	// the platform; negative where it does not say.
	Queued, Ran time.Duration
}

// Fault is a refusal or a failure that the platform names. The VM is as it was.
type Fault struct {
	Name string // such as "TaskInProgress"
	Err  error
}

// Error is what the platform says.
func (f *Fault) Error() string { return f.Err.Error() }

// Unwrap is the error without its name.
func (f *Fault) Unwrap() error { return f.Err }

// Survey is what there is.
type Survey struct {
	Hosts []string // that can get VMs
	VMs   []VM     // whose names begin with the prefix and which carry the mark
	// Fixed says that VMs with snapshots cannot be moved or registered again.
	Fixed bool
	// ColdClones says that only VMs that are off can be cloned.
	ColdClones bool
	// DiskSnapshots says that snapshots are of disks: VMs without one have none.
	DiskSnapshots bool
	Lacks         []Kind // operations that the platform does not have
}

// Platform manages VMs. It may be used by many goroutines.
type Platform interface {
	// Survey lists hosts and the VMs whose notes begin with the lines of the mark.
	Survey(ctx context.Context, prefix, mark string) (Survey, error)
	// Issue begins an operation and returns a ticket for Await.
	Issue(ctx context.Context, o Order) (ticket string, err error)
	// Await returns when an operation has ended. One that outlasts the context is cancelled.
	Await(ctx context.Context, ticket string) (Outcome, error)
	Close() error
}

// Opener connects to a platform.
type Opener func(ctx context.Context, at load.Endpoint) (Platform, error)

// Privileged is a platform that can say beforehand what an account may not do.
type Privileged interface {
	// Missing lists the privileges that operations require and the account lacks, each with what
	// it is missing on.
	Missing(ctx context.Context, kinds []Kind) ([]string, error)
}

// Modelled is a platform whose operations take times of a model.
type Modelled interface {
	// Skip has the operations of this session take no modelled time, or take it again. It answers
	// false where no times are modelled.
	Skip(ctx context.Context, skip bool) (modelled bool, err error)
}

// Sessions is a platform whose session can end while operations go on.
type Sessions interface {
	// Renewed is how often there was a new session because the one before had ended.
	Renewed() int
}

// Marked reports whether a note begins with the lines of a mark.
func Marked(note, mark string) bool {
	rest, is := strings.CutPrefix(strings.ReplaceAll(note, "\r\n", "\n"), mark)
	return is && (rest == "" || rest[0] == '\n')
}

// FileStore is a platform that keeps the files of VMs that are not in its inventory.
type FileStore interface {
	// Strays lists such files, of VMs whose names begin with the prefix.
	Strays(ctx context.Context, prefix string) (paths []string, err error)
	// Erase deletes the files of one of them. It refuses those of a VM in the inventory.
	Erase(ctx context.Context, path string) error
}
