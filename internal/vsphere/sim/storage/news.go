package storage

import (
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/operation"
)

// news is the changes since the last take. Callers may hold locks of VMs, so it has its own
// lock, under which it calls nothing.
type news struct {
	mo.PropertyCollector // the simulator expects every object to wrap a managed one

	m           sync.Mutex
	follows     bool // policies were queried before
	used        bool // some VM has had a policy
	vms         map[types.ManagedObjectReference]bool
	assignments []operation.Profiles
	stores      bool
}

// most is the maximum number of recorded VMs; beyond it, all are read again.
const most = 100_000

func newNews(reg *simulator.Registry) *news {
	n := &news{vms: map[types.ManagedObjectReference]bool{}}
	reg.AddHandler(n)
	return n
}

// edition is the changes of a take.
type edition struct {
	all         bool // everything may have changed
	vms         map[types.ManagedObjectReference]bool
	assignments []operation.Profiles
	stores      bool
}

// take returns and clears the changes.
func (n *news) take() edition {
	n.m.Lock()
	defer n.m.Unlock()
	e := edition{!n.follows, n.vms, n.assignments, n.stores || !n.follows}
	n.follows, n.vms, n.assignments, n.stores = true, map[types.ManagedObjectReference]bool{}, nil, false
	return e
}

// assigned records the policies that an operation assigned to a VM.
func (n *news) assigned(p operation.Profiles) {
	n.m.Lock()
	defer n.m.Unlock()
	own := len(p.Home) > 0 || len(p.Disks) > 0
	if n.used = n.used || own; n.used { // otherwise a clone inherits nothing
		n.assignments = append(n.assignments, p)
	}
	n.changed(p.VM)
}

func (n *news) changed(ref types.ManagedObjectReference) {
	switch {
	case !n.follows: // the first query reads all
	case ref.Type == "VirtualMachine":
		if n.vms[ref] = true; len(n.vms) > most {
			n.follows = false
			clear(n.vms)
		}
	case ref.Type == "Datastore":
		n.stores = true
	}
}

// tagged records that tags may have changed.
func (n *news) tagged() {
	n.m.Lock()
	defer n.m.Unlock()
	n.stores = true
}

// Reference is the reference of the listener.
func (*news) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Listener", Value: "plimsoll-storage"}
}

// PutObject handles new objects.
func (n *news) PutObject(_ *simulator.Context, of mo.Reference) {
	if _, task := of.(*simulator.Task); task {
		return
	}
	n.m.Lock()
	defer n.m.Unlock()
	n.changed(of.Reference())
}

// RemoveObject handles removed objects.
func (n *news) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	if ref.Type == "Task" {
		return
	}
	n.m.Lock()
	defer n.m.Unlock()
	n.changed(ref)
}

// UpdateObject handles changes of files, disks and names.
func (n *news) UpdateObject(_ *simulator.Context, of mo.Reference, changes []types.PropertyChange) {
	ref := of.Reference()
	if ref.Type != "VirtualMachine" && ref.Type != "Datastore" {
		return
	}
	for i := range changes {
		name := changes[i].Name
		if ref.Type == "VirtualMachine" && matters(name) || ref.Type == "Datastore" && name != "vm" {
			n.m.Lock()
			n.changed(ref)
			n.m.Unlock()
			return
		}
	}
}

// matters reports whether a property of a VM concerns the location of its files.
func matters(name string) bool {
	return name == "config" || name == "config.hardware" || strings.HasPrefix(name, "config.files") || strings.HasPrefix(name, "config.hardware.device")
}
