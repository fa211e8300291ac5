// Package appliance deploys VMs of one appliance to a cluster of a vCenter, configures them,
// reads back their configuration, and removes them. All objects that it creates carry a mark.
package appliance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/inventory"
	"plimsoll/internal/vsphere/session"
	"plimsoll/internal/vsphere/task"
)

// reference is short for the identifier of an object of the vCenter.
type reference = types.ManagedObjectReference

// Where is the location of new VMs in a cluster, by names. An empty name selects the only
// object, or the default.
type Where struct {
	Datastore string
	Network   string
	Folder    string // of VMs; the root folder by default
	Pool      string // resource pool; the cluster's by default
}

// DeployTarget is a cluster for new VMs.
type DeployTarget struct {
	session *session.Session
	tasks   *task.Waiter

	cluster                     reference
	pool, folder, store, attach reference
	datacenter, storeName       string               // path of the datacenter
	hosts                       map[string]reference // hosts with access to the datastore and the network
}

// Open logs in to the vCenter of a cluster and resolves the location.
func Open(ctx context.Context, at live.Address, w Where) (*DeployTarget, error) {
	s, err := Reopen(ctx, at, w.Folder)
	if err != nil {
		return nil, err
	}
	if err := s.find(ctx, w); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Reopen logs in to the vCenter of a cluster to remove VMs from a folder; it needs no other
// object.
func Reopen(ctx context.Context, at live.Address, folder string) (*DeployTarget, error) {
	sn, err := session.Open(ctx, at)
	if err != nil {
		return nil, err
	}
	s := &DeployTarget{session: sn, tasks: task.NewWaiter(sn)}
	if s.cluster, err = inventory.Find(ctx, sn, at.Path); err == nil {
		err = s.findFolder(ctx, folder)
	}
	if err != nil {
		return nil, errors.Join(err, sn.Close())
	}
	return s, nil
}

// Close logs out.
func (s *DeployTarget) Close() error { return s.session.Close() }

// About is the release of the vCenter.
func (s *DeployTarget) About() string { return s.vim().ServiceContent.About.FullName }

func (s *DeployTarget) vim() *vim25.Client { return s.session.Client() }

func (s *DeployTarget) read(ctx context.Context, ref reference, into any, names ...string) error {
	return property.DefaultCollector(s.vim()).RetrieveOne(ctx, ref, names, into)
}

// find resolves the names.
func (s *DeployTarget) find(ctx context.Context, w Where) error {
	var cluster mo.ClusterComputeResource
	if err := s.read(ctx, s.cluster, &cluster, "host", "datastore", "network", "resourcePool"); err != nil {
		return fmt.Errorf("read the cluster: %w", err)
	}
	var err error
	if s.store, s.storeName, err = s.pick(ctx, "datastore", w.Datastore, cluster.Datastore); err != nil {
		return err
	}
	if s.attach, _, err = s.pick(ctx, "network", w.Network, cluster.Network); err != nil {
		return err
	}
	if s.pool = *cluster.ResourcePool; w.Pool != "" {
		if s.pool, err = s.below(ctx, "resource pool", w.Pool, s.pool); err != nil {
			return err
		}
	}
	return s.findHosts(ctx, cluster.Host)
}

// findFolder resolves the folder of VMs.
func (s *DeployTarget) findFolder(ctx context.Context, path string) error {
	var cluster mo.ManagedEntity
	if err := s.read(ctx, s.cluster, &cluster, "parent"); err != nil {
		return fmt.Errorf("read the cluster: %w", err)
	}
	err := s.findDatacenter(ctx, cluster.Parent)
	if err == nil && path != "" {
		s.folder, err = s.below(ctx, "folder", path, s.folder)
	}
	return err
}

// findDatacenter walks up to the datacenter, whose VM folder is the default, and on to the
// root for its path.
func (s *DeployTarget) findDatacenter(ctx context.Context, above *reference) error {
	for above != nil && *above != s.vim().ServiceContent.RootFolder {
		var e mo.ManagedEntity
		if err := s.read(ctx, *above, &e, "name", "parent"); err != nil {
			return fmt.Errorf("find the datacenter of the cluster: %w", err)
		}
		switch {
		case s.datacenter != "":
			s.datacenter = e.Name + "/" + s.datacenter
		case above.Type == "Datacenter":
			var d mo.Datacenter
			if err := s.read(ctx, *above, &d, "vmFolder"); err != nil {
				return fmt.Errorf("read the datacenter: %w", err)
			}
			s.datacenter, s.folder = e.Name, d.VmFolder
		}
		above = e.Parent
	}
	if s.datacenter == "" {
		return errors.New("find the datacenter of the cluster: the account may not see what is above the cluster")
	}
	return nil
}

// named reads the names of objects.
func (s *DeployTarget) named(ctx context.Context, all []reference) (map[string]reference, error) {
	out := map[string]reference{}
	if len(all) == 0 {
		return out, nil
	}
	set := types.PropertyFilterSpec{}
	for _, ref := range all {
		set.ObjectSet = append(set.ObjectSet, types.ObjectSpec{Obj: ref})
		if !slices.ContainsFunc(set.PropSet, func(p types.PropertySpec) bool { return p.Type == ref.Type }) {
			set.PropSet = append(set.PropSet, types.PropertySpec{Type: ref.Type, PathSet: []string{"name"}})
		}
	}
	objects, err := mo.RetrievePropertiesEx(ctx, s.vim(), types.RetrievePropertiesEx{This: s.vim().ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{set}})
	for _, o := range objects {
		for _, p := range o.PropSet {
			if name, is := p.Val.(string); is {
				out[name] = o.Obj
			}
		}
	}
	return out, err
}

// pick is the object with a name, or the only one.
func (s *DeployTarget) pick(ctx context.Context, kind, name string, all []reference) (reference, string, error) {
	known, err := s.named(ctx, all)
	if err != nil {
		return reference{}, "", fmt.Errorf("list the %ss of the cluster: %w", kind, err)
	}
	names := make([]string, 0, len(known))
	for n := range known {
		names = append(names, n)
	}
	slices.Sort(names)
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	if ref, ok := known[name]; ok {
		return ref, name, nil
	}
	has := fmt.Sprintf("it has %s", strings.Join(names, ", "))
	if len(names) == 0 {
		has = "this account sees none"
	}
	if name == "" {
		return reference{}, "", &live.Mistake{Err: fmt.Errorf("the cluster has several %ss, but the settings select none; %s", kind, has)}
	}
	return reference{}, "", &live.Mistake{Err: fmt.Errorf("the cluster has no %s %q; %s", kind, name, has)}
}

// below is the folder or resource pool at a path below another.
func (s *DeployTarget) below(ctx context.Context, kind, path string, top reference) (reference, error) {
	at := top
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		var children []reference
		var err error
		if top.Type == "ResourcePool" {
			var p mo.ResourcePool
			err = s.read(ctx, at, &p, "resourcePool")
			children = p.ResourcePool
		} else {
			var f mo.Folder
			err = s.read(ctx, at, &f, "childEntity")
			children = slices.DeleteFunc(f.ChildEntity, func(r reference) bool { return r.Type != "Folder" })
		}
		if err != nil {
			return at, fmt.Errorf("find %s %s: %w", kind, path, err)
		}
		known, err := s.named(ctx, children)
		if err != nil {
			return at, fmt.Errorf("find %s %s: %w", kind, path, err)
		}
		next, ok := known[part]
		if !ok {
			return at, &live.Mistake{Err: fmt.Errorf("%s %q does not exist: there is no %q", kind, path, part)}
		}
		at = next
	}
	return at, nil
}

// findHosts lists the usable hosts with access to the datastore and the network.
func (s *DeployTarget) findHosts(ctx context.Context, all []reference) error {
	s.hosts = map[string]reference{}
	if len(all) == 0 {
		return nil
	}
	var hosts []mo.HostSystem
	names := []string{"name", "datastore", "network", "runtime.connectionState", "runtime.inMaintenanceMode"}
	if err := property.DefaultCollector(s.vim()).Retrieve(ctx, all, names, &hosts); err != nil {
		return fmt.Errorf("list the hosts: %w", err)
	}
	for _, h := range hosts {
		if h.Runtime.ConnectionState == types.HostSystemConnectionStateConnected && !h.Runtime.InMaintenanceMode &&
			slices.Contains(h.Datastore, s.store) && slices.Contains(h.Network, s.attach) {
			s.hosts[h.Name] = h.Self
		}
	}
	return nil
}

// Ready reports whether VMs can be created at present: on a named host, or on any.
func (s *DeployTarget) Ready(host string) error {
	if len(s.hosts) == 0 {
		return fmt.Errorf("no host of the cluster that is connected and not in maintenance reaches datastore %s and the network", s.storeName)
	}
	_, err := s.host(host)
	return err
}

// host is the host with a name; nil for none.
func (s *DeployTarget) host(name string) (*reference, error) {
	if name == "" {
		return nil, nil
	}
	if ref, ok := s.hosts[name]; ok {
		return &ref, nil
	}
	names := make([]string, 0, len(s.hosts))
	for n := range s.hosts {
		names = append(names, n)
	}
	slices.Sort(names)
	return nil, &live.Mistake{Err: fmt.Errorf("host %s of the cluster does not exist or is not usable; usable hosts: %s", name, strings.Join(names, ", "))}
}

// device is the backing of a network card on the network.
func (s *DeployTarget) device(ctx context.Context) (types.BaseVirtualDeviceBackingInfo, error) {
	ref, is := object.NewReference(s.vim(), s.attach).(object.NetworkReference)
	if !is {
		return nil, fmt.Errorf("VMs cannot be connected to a %s", s.attach.Type)
	}
	return ref.EthernetCardBackingInfo(ctx)
}

// done waits for a task.
func (s *DeployTarget) done(ctx context.Context, doing string, begin func() (reference, error)) (types.TaskInfo, error) {
	ref, err := begin()
	var info types.TaskInfo
	if err == nil {
		info, err = s.tasks.Wait(ctx, ref)
	}
	if err != nil {
		return info, fmt.Errorf("%s: %w", doing, err)
	}
	return info, nil
}
