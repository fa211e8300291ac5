package storage

import (
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/operation"
)

// news is what has changed since it was last taken. Those who change VMs hold their locks, so it has a
// lock of its own, under which nothing is called.
type news struct {
	mo.PropertyCollector // the simulator expects of all objects that they wrap a managed one

	m           sync.Mutex
	follows     bool // somebody has asked for policies
	used        bool // some VM has had a policy
	vms         map[types.ManagedObjectReference]bool
	assignments []operation.Profiles
	stores      bool
}

// most is how many VMs are noted; with more, all are read again.
const most = 100_000

func newNews(reg *simulator.Registry) *news {
	n := &news{vms: map[types.ManagedObjectReference]bool{}}
	reg.AddHandler(n)
	return n
}

// edition is what has changed.
type edition struct {
	all         bool // everything may have changed
	vms         map[types.ManagedObjectReference]bool
	assignments []operation.Profiles
	stores      bool
}

// take returns what has changed, and forgets it.
func (n *news) take() edition {
	n.m.Lock()
	defer n.m.Unlock()
	e := edition{!n.follows, n.vms, n.assignments, n.stores || !n.follows}
	n.follows, n.vms, n.assignments, n.stores = true, map[types.ManagedObjectReference]bool{}, nil, false
	return e
}

// assigned notes the policies that an operation gave a VM.
func (n *news) assigned(p operation.Profiles) {
	n.m.Lock()
	defer n.m.Unlock()
	own := len(p.Home) > 0 || len(p.Disks) > 0
	if n.used = n.used || own; n.used { // else there is nothing that a clone could have
		n.assignments = append(n.assignments, p)
	}
	n.changed(p.VM)
}

func (n *news) changed(ref types.ManagedObjectReference) {
	switch {
	case !n.follows: // all is read at the first question
	case ref.Type == "VirtualMachine":
		if n.vms[ref] = true; len(n.vms) > most {
			n.follows = false
			clear(n.vms)
		}
	case ref.Type == "Datastore":
		n.stores = true
	}
}

// tagged notes that tags may have changed.
func (n *news) tagged() {
	n.m.Lock()
	defer n.m.Unlock()
	n.stores = true
}

// Reference is the name of the listener.
func (*news) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Listener", Value: "plimsoll-storage"}
}

// PutObject is told of new objects.
func (n *news) PutObject(_ *simulator.Context, of mo.Reference) {
	if _, task := of.(*simulator.Task); task {
		return
	}
	n.m.Lock()
	defer n.m.Unlock()
	n.changed(of.Reference())
}

// RemoveObject is told of objects that are gone.
func (n *news) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	if ref.Type == "Task" {
		return
	}
	n.m.Lock()
	defer n.m.Unlock()
	n.changed(ref)
}

// UpdateObject is told of changes, of which those of files, disks and names matter.
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

// matters reports whether a property of a VM says where its files are.
func matters(name string) bool {
	return name == "config" || name == "config.hardware" || strings.HasPrefix(name, "config.files") || strings.HasPrefix(name, "config.hardware.device")
}
