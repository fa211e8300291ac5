// Package platform is the contract for the places where a study runs, and for
// the machines in them.
package platform

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
)

// Kind is a kind of platform. It is a value in the catalog.
type Kind struct {
	Name, Doc string
	Defaults  any // the settings: this struct is the schema (see package parameter)
	// Needs names the prerequisites, for users; empty for none.
	Needs string
	// Virtual reports that time is simulated: see Simulator.
	Virtual bool
	// Candidates are the settings that tune tries where the study names none.
	Candidates []parameter.Candidate
	// Fleeting says of settings that the machines end with the process that opened the
	// platform, and with them all that was done to them: a dead run leaves nothing to put
	// back. Nil is never.
	Fleeting func(settings parameter.Settings) bool
	// Possible reports settings that exclude each other, without a machine. Nil is none.
	Possible func(settings parameter.Settings) error
	// Hosts is the protocol of services that run on the host of the machines, whose disks are in them; empty for none. Such a
	// platform is Backed.
	Hosts string
	// Operations are the management operations that the platform carries out beside loads, as an Operator.
	Operations []string
	// Sweep removes the leftovers of this user's dead processes from this host, except the
	// changes in their undo logs, and returns a phrase for each. Nil is nothing.
	Sweep func(ctx context.Context) ([]string, error)
	// Open makes the platform ready. The seed is the study's; folder is the
	// scratch folder on the machine that runs plimsoll.
	Open func(ctx context.Context, settings parameter.Settings, seed uint64) (Platform, error)
}

// Platform is a place where a study runs, open for use.
type Platform interface {
	Machine() Machine
	Close() error
}

// Simulator is a platform that serves a load in virtual time instead of
// letting it run on a machine. Package trial alone asks for this ability.
type Simulator interface {
	// Simulate reports what the demand would see. An error voids the trial with that cause.
	Simulate(ctx context.Context, run Run, out *measure.Recorder) (counters map[string]float64, err error)
	// Now is the virtual instant.
	Now() time.Time
}

// ScratchProvider is a platform whose machine is not the one that plimsoll runs on, and has a
// folder of its own for what workloads need. On others that lies beside the results. It is also
// a machine of a group whose folder is not that of its platform.
type ScratchProvider interface {
	Scratch() string
}

// Run is one trial as a simulator sees it.
type Run struct {
	Trial, Block, Slot int
	Probe              int               // loads offered before this one in the same trial, by a search
	Levels             map[string]string // of the workload's factors, by full name; the machine's settings are on the machine
	Demand             load.Demand
	Stage              load.Stage
}

// Management operations of platforms.
const (
	Migrate  = "migrate"  // a running VM to another host, or to another process on its host
	Deploy   = "deploy"   // a VM is made, boots until it answers, and is removed
	Snapshot = "snapshot" // of a running VM, and its removal
)

// Operator is a platform that carries out management operations beside loads. Package trial alone asks for this ability.
type Operator interface {
	// Operate carries out an operation of its kind once, and leaves everything as it was, also after an error. A VM to migrate, or to
	// take a snapshot of, runs no load; a VM to deploy is like those of a group. When the context ends, an operation on a VM is
	// completed, and a deployment ends with its VM removed. An error that is a *Refused is so each time.
	Operate(ctx context.Context, operation string, on Machine, like Group) error
}

// Group is a kind of machines of a study.
type Group struct {
	Name     string             // empty where the study has one kind alone
	Machines int                // their number
	Settings parameter.Settings // settings of the platform that differ from the study's
}

// Grouped is a platform that can have several machines at once.
type Grouped interface {
	// Members are the machines of groups in their order: of each exactly its number, in a stable order. A second
	// call with another number starts missing ones and ends surplus ones. All that have to boot do so at once.
	Members(ctx context.Context, groups ...Group) ([][]Machine, error)
}

// MembersOf are the machines of one group.
func MembersOf(ctx context.Context, p Grouped, g Group) ([]Machine, error) {
	all, err := p.Members(ctx, g)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// InTurn calls a function for groups one after the other, for a platform whose machines do not boot.
func InTurn(groups []Group, members func(g Group) ([]Machine, error)) ([][]Machine, error) {
	all := make([][]Machine, len(groups))
	for i, g := range groups {
		var err error
		if all[i], err = members(g); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Backed is a platform whose machines have disks in the service of the study. The service runs on the host of the machines, starts
// before they boot and ends after them. Package trial alone asks for this ability.
type Backed interface {
	// Host is that host, with a folder for the service that is removed with the platform.
	Host(ctx context.Context) (m Machine, dir string, err error)
	// Attach has machines that boot from now on have their disks in the service at an endpoint. The names of all disks begin with a
	// prefix. An endpoint without an address is of a service that does not run yet: machines that boot before it does have
	// disks elsewhere, to answer questions. An error is a mistake of the study or a lack of the host.
	Attach(ctx context.Context, at load.Endpoint, prefix string) error
	// Detach ends the machines with disks in the service, at once where it has died, and removes the disks from one that plimsoll
	// did not start. Disks are needed no more until the next Attach. It may be called while machines boot.
	Detach(ctx context.Context, died bool) error
	// Clear removes disks whose names begin with a prefix from a service that plimsoll did not start: those of a dead run.
	Clear(ctx context.Context, at load.Endpoint, prefix string) error
}

// BackedMachine is a machine of a platform that is Backed.
type BackedMachine interface {
	// Claims are the most that it takes with further settings of the host's memory and of the service, in bytes. A disk elsewhere takes
	// nothing of the service.
	Claims(further parameter.Settings) (memory, stored int64, err error)
}

// Refused is the error of machines that cannot be, however often they are asked for.
type Refused struct{ Err error }

// Error is the reason.
func (r *Refused) Error() string { return r.Err.Error() }

// Unwrap returns the reason.
func (r *Refused) Unwrap() error { return r.Err }

// Chooser is a platform that has machines to choose from. Choose waits for the one of that name, which is Machine from then on: what a run
// changed is put back on the machine where it began.
type Chooser interface {
	Choose(ctx context.Context, name string) error
}

// Connected is a machine that the others of its platform reach over a network.
type Connected interface {
	// Address is an IP address without a port. The error of a machine without a network
	// explains how to get one.
	Address(ctx context.Context) (string, error)
}

// Dialer is a machine that can forward connections: they begin on the machine.
type Dialer interface {
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// Machine is a host or a guest that commands run on.
type Machine interface {
	Name() string
	// Run runs a command to its end. A command that could not be started is
	// an error; one that ran and failed is a Result with its exit status.
	Run(ctx context.Context, c Command) (Result, error)
	// ReadFile and WriteFile reach small files, such as those under /proc and /sys.
	// A file that is absent gives an error that wraps fs.ErrNotExist.
	ReadFile(ctx context.Context, name string) ([]byte, error)
	WriteFile(ctx context.Context, name string, data []byte) error
}

// Command is a program with its arguments. No shell is involved.
type Command struct {
	Argv   []string
	Dir    string
	Stdin  io.Reader
	Stdout io.Writer // gets the output as it comes; nil collects it into the Result
	// Joined has standard error go where standard output goes, in the order in which both come.
	Joined bool
	// Worker marks a process that makes the load: the confinement of workers
	// (CPU affinity, CPU set, quota) applies to it and to no other command.
	Worker bool
	// Stop, when closed, requests the command to exit, with SIGINT; cancelling the context
	// kills it.
	Stop <-chan struct{}
}

// Result is how a command ended.
type Result struct {
	Exit           int // exit status, or -1 when a signal ended it
	Signal         string
	Stdout, Stderr []byte // Stderr keeps the last 64 KiB
	User, System   time.Duration
	// OutOfMemory reports that the command failed and that the kernel's OOM killer killed a
	// process of the machine meanwhile: this one, a child, or another.
	OutOfMemory bool
}

// Confinement is where the workers of a trial may run. The zero value leaves
// them free.
type Confinement struct {
	Affinity string // CPU list such as "0-1,4", set on each process
	CPUSet   string // CPU list of their control group, or Unlimited
	Quota    string // CPU time of their control group in CPUs, such as "1.5", or Unlimited
}

// Unlimited has workers run in a control group of their own that limits nothing. A group
// changes more than its limit, its share of a busy machine above all: a baseline without
// a limit belongs in one as well.
const Unlimited = "unlimited"

// Confiner is a machine that can confine workers, for factors.
type Confiner interface {
	Confinement() Confinement
	Confine(ctx context.Context, c Confinement) error
	// Confinable is the reason why the machine does not support c; it changes nothing.
	Confinable(ctx context.Context, c Confinement) error
}

// Claimer is a machine of which other runs may change settings too. Claim keeps them from the settings that a run names, until release is called
// or the run dies. Its error says who has claimed one of them, and wraps ErrClaimed. Package trial alone asks for this ability.
type Claimer interface {
	Claim(ctx context.Context, c Claim) (release func(), err error)
}

// ErrClaimed is the error of a setting claimed by another run.
var ErrClaimed = errors.New("another run has claimed a setting")

// Claim is the identity of a run that claims settings of a machine.
type Claim struct {
	Run   string   // its name
	Dir   string   // its results folder
	Log   string   // its undo log on the machine
	Lab   string   // process and host of the lab, where that is not on the machine
	Names []string // of the settings, and of those coupled with them
}

// Carrier is a machine with a copy of this program, which can start load generators and
// servers as processes of their own.
type Carrier interface {
	// Self is the path of the program on the machine.
	Self(ctx context.Context) (string, error)
}

// Observer is a machine with values that none of its files contains, for collectors.
type Observer interface {
	Clock(ctx context.Context) (Clock, error)
	Space(ctx context.Context, dir string) (Space, error)
}

// Local is a machine whose files are those of the host of this process, so that what reads many
// of them reads them directly.
type Local interface {
	Local() bool
}

// Clocked is a machine with a clock of its own, whose distance from the clock of this
// process can be measured. What starts on several machines at once asks for it.
type Clocked interface {
	// Offset is how far the machine's clock is ahead of this process's: an instant here
	// plus the offset is what the machine's clock shows then. The true offset differs by at
	// most the uncertainty. Clocks drift and are set, so it holds for a while only.
	Offset(ctx context.Context) (offset, uncertainty time.Duration, err error)
}

// Described is a machine with facts that none of its files contains, for reports.
type Described interface {
	Facts(ctx context.Context) ([]Fact, error)
	// Caution is a warning to every reader of a number from the machine; empty for none.
	Caution(ctx context.Context) (string, error)
}

// FactSource is a machine whose shape factors may change: it says how it sees its processors
// and memory now, line by line as lscpu does. Package trial keeps that with each trial.
type FactSource interface {
	Sees(ctx context.Context) ([]Fact, error)
}

// Hosted is a machine on a host that reports the resources it gives.
type Hosted interface {
	Given(ctx context.Context) (GuestUsage, error)
	// Process is the process of this host that runs the machine. The error of a machine on
	// another host says so.
	Process(ctx context.Context) (pid int, err error)
}

// Disturbed is a machine or a service to which a study lets something happen once in the middle of each
// load, such as a migration. Package trial alone asks for this ability.
type Disturbed interface {
	// Pending names the event; empty for none.
	Pending() string
	// Disturb triggers the event and returns its measurements, by metric. An error voids
	// the trial with that cause.
	Disturb(ctx context.Context) (map[string]float64, error)
}

// GuestUsage is the resources that a host gave to a guest since the guest's start.
type GuestUsage struct {
	Run    time.Duration // of CPU, to its vCPUs
	Ready  time.Duration // for which vCPUs could have run, while the CPU was another's
	Others time.Duration // of CPU, to its other threads: disk and network
	Exits  int64         // from the guest to the hypervisor; below 0 where the kernel does not show them
	// Elsewhere is true of a guest that is on another host now: times are unknown.
	Elsewhere bool
	// VirtualTime is true of a guest whose clock counts instructions and not time.
	VirtualTime bool
	// ForcedIdle is the CPU time for which the other threads of cores had to be idle beside the guest, by core scheduling; nil where
	// the kernel does not count it.
	ForcedIdle *time.Duration
	// Checkpoints are nil for a guest that is not to have a standby, which takes over at the last checkpoint.
	Checkpoints *Checkpoints
}

// Checkpoints are the costs of a guest's protection since it booted.
type Checkpoints struct {
	Taken     int64
	Paused    time.Duration // for which they stopped the guest
	Held      time.Duration // from their begin until what the guest sent before left, summed over checkpoints
	Copied    int64         // bytes of memory and of the state of devices
	Failovers int64
	Guest     Place // of the guest
	Standby   Place // of the standby; without a process while there is none
}

// Place is where a guest runs.
type Place struct {
	Host    string // empty is this host
	Process int    // there; 0 for none
}

// Wired is a machine in plimsoll's own network, which counts its traffic.
type Wired interface {
	// Traffic is the traffic since the machine was created. It is false for a machine
	// without a network.
	Traffic() (Traffic, bool)
	// RoundTrip is the shortest of several round trips to another machine that runs in its
	// network. It answers 0 where there is no other.
	RoundTrip(ctx context.Context) (time.Duration, error)
}

// Traffic is a machine's network traffic, in Ethernet frames and in their bytes.
type Traffic struct {
	FramesIn, FramesOut, BytesIn, BytesOut uint64 // in is to the machine
	Lost                                   uint64 // frames for the machine that it did not take in time
}

// Fact is a fact about a machine.
type Fact struct{ Name, Value string }

// Clock is the state of a machine's clock, as its kernel judges it.
type Clock struct {
	Synchronised bool
	MaxError     time.Duration // bound on the distance from true time
}

// Space is the room in a file system, in bytes.
type Space struct {
	Size, Free int64 // Free is the space available to an ordinary user
}
