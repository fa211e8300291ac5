package operation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/workload/operations/management"
)

// looks is the maximum number of listings of VMs: deletions during a read cause another.
const looks = 5

// Survey lists the usable hosts, and the VMs with the mark.
func (c *client) Survey(ctx context.Context, prefix, mark string) (s management.Survey, err error) {
	for range looks {
		if s, err = c.look(ctx, prefix, mark); !fault.Is(err, &types.ManagedObjectNotFound{}) {
			break
		}
	}
	return s, err
}

func (c *client) look(ctx context.Context, prefix, mark string) (management.Survey, error) {
	s := management.Survey{Hosts: slices.Sorted(maps.Keys(c.site.hosts))}
	named, err := c.below(ctx, c.site.folder, "VirtualMachine", "name")
	if err != nil {
		return s, err
	}
	var ours []types.ObjectSpec
	for _, o := range named {
		for _, p := range o.PropSet {
			if name, is := p.Val.(string); is && strings.HasPrefix(name, prefix) {
				ours = append(ours, types.ObjectSpec{Obj: o.Obj})
			}
		}
	}
	const batch = 500
	for part := range slices.Chunk(ours, batch) {
		objects, err := c.retrieve(ctx, part, "VirtualMachine", "name", "config.annotation", "config.cpuAllocation", "runtime.powerState", "runtime.host", "snapshot")
		if err != nil {
			return s, err
		}
		for _, o := range objects {
			if v, marked := c.seen(o, mark); marked {
				s.VMs = append(s.VMs, v)
			}
		}
	}
	slices.SortFunc(s.VMs, func(a, b management.VM) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

// seen is a VM as the vCenter reports it, and whether it has the mark.
func (c *client) seen(o types.ObjectContent, mark string) (v management.VM, marked bool) {
	v.ID = o.Obj.Value
	for _, p := range o.PropSet {
		switch value := p.Val.(type) {
		case string:
			if p.Name == "name" {
				v.Name = value
			} else {
				v.Note, marked = value, management.Marked(value, mark)
			}
		case types.ResourceAllocationInfo:
			if value.Shares != nil {
				v.Shares = int(value.Shares.Shares)
			}
		case types.VirtualMachinePowerState:
			v.Power = map[types.VirtualMachinePowerState]management.Power{
				types.VirtualMachinePowerStatePoweredOn: management.On, types.VirtualMachinePowerStatePoweredOff: management.Off,
				types.VirtualMachinePowerStateSuspended: management.Suspended,
			}[value]
		case reference:
			v.Host = c.site.names[value]
		case types.VirtualMachineSnapshotInfo:
			v.Snapshots = count(value.RootSnapshotList)
		}
	}
	return v, marked
}

func count(list []types.VirtualMachineSnapshotTree) int {
	n := len(list)
	for _, t := range list {
		n += count(t.ChildSnapshotList)
	}
	return n
}

// find finds the location of new VMs.
func (c *client) find(ctx context.Context) (s destination, err error) {
	s = destination{hosts: map[string]reference{}, names: map[reference]string{}}
	if err := c.places(ctx, &s); err != nil {
		return s, err
	}
	hosts, err := c.below(ctx, c.cluster, "HostSystem", "name", "runtime.connectionState", "runtime.inMaintenanceMode", "datastore")
	if err != nil {
		return s, fmt.Errorf("list the hosts: %w", err)
	}
	stores := map[reference][]reference{} // usable hosts, by datastore
	for _, o := range hosts {
		usable := true
		var reached []reference
		for _, p := range o.PropSet {
			switch v := p.Val.(type) {
			case string:
				s.names[o.Obj] = v
			case types.HostSystemConnectionState:
				usable = usable && v == types.HostSystemConnectionStateConnected
			case bool:
				usable = usable && !v
			case types.ArrayOfManagedObjectReference:
				reached = v.ManagedObjectReference
			}
		}
		for _, r := range reached {
			if usable {
				stores[r] = append(stores[r], o.Obj)
			}
		}
	}
	return s, c.choose(ctx, &s, stores)
}

// choose selects the datastore with access from most hosts.
func (c *client) choose(ctx context.Context, s *destination, stores map[reference][]reference) error {
	best := reference{}
	for _, r := range slices.SortedFunc(maps.Keys(stores), func(a, b reference) int { return strings.Compare(a.Value, b.Value) }) {
		if len(stores[r]) > len(stores[best]) {
			best = r
		}
	}
	if best.Value == "" {
		return errors.New("no host of the cluster that is connected and not in maintenance has a datastore")
	}
	s.disks = best
	for _, h := range stores[best] {
		s.hosts[s.names[h]] = h
	}
	objects, err := c.retrieve(ctx, []types.ObjectSpec{{Obj: best}}, "Datastore", "name")
	if err != nil {
		return fmt.Errorf("read the name of the datastore: %w", err)
	}
	for _, o := range objects {
		for _, p := range o.PropSet {
			s.store, _ = p.Val.(string)
		}
	}
	return nil
}

// places finds the cluster's resource pool, and the folder of VMs of its datacenter.
func (c *client) places(ctx context.Context, s *destination) error {
	for at, kind := c.cluster, "ComputeResource"; ; {
		properties := []string{"parent"}
		switch at.Type {
		case "Datacenter":
			properties, kind = []string{"vmFolder"}, at.Type
		case "ClusterComputeResource", "ComputeResource":
			properties = append(properties, "resourcePool")
		default:
			kind = at.Type
		}
		objects, err := c.retrieve(ctx, []types.ObjectSpec{{Obj: at}}, kind, properties...)
		if err != nil {
			return fmt.Errorf("find the datacenter of the cluster: %w", err)
		}
		above := reference{}
		for _, o := range objects {
			for _, p := range o.PropSet {
				ref, _ := p.Val.(reference)
				switch p.Name {
				case "parent":
					above = ref
				case "resourcePool":
					s.pool = ref
				case "vmFolder":
					s.folder = ref
					return nil
				}
			}
		}
		if above.Value == "" {
			return errors.New("find the datacenter of the cluster: the account may not see what is above the cluster")
		}
		at = above
	}
}

// below reads properties of all objects of a kind below another.
func (c *client) below(ctx context.Context, root reference, kind string, properties ...string) ([]types.ObjectContent, error) {
	made, err := methods.CreateContainerView(ctx, c.vim(), &types.CreateContainerView{This: *c.vim().ServiceContent.ViewManager, Container: root, Type: []string{kind}, Recursive: true})
	if err != nil {
		return nil, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		_, _ = methods.DestroyView(ctx, c.vim(), &types.DestroyView{This: made.Returnval}) // it ends with the session
	}()
	return c.retrieve(ctx, []types.ObjectSpec{{Obj: made.Returnval, Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{
		&types.TraversalSpec{Type: made.Returnval.Type, Path: "view"},
	}}}, kind, properties...)
}

func (c *client) retrieve(ctx context.Context, of []types.ObjectSpec, kind string, properties ...string) ([]types.ObjectContent, error) {
	return mo.RetrievePropertiesEx(ctx, c.vim(), types.RetrievePropertiesEx{This: c.vim().ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{{
		ObjectSet: of, PropSet: []types.PropertySpec{{Type: kind, PathSet: properties}},
	}}})
}
