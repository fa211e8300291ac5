// Package inventory builds the inventory of the simulator from clusters of the model: one VM
// is created as by a client, and the others are copies of it with their own names, sizes and
// hosts.
package inventory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
)

// Datacenter is the name of the datacenter.
const Datacenter = "DC0"

// Defaults for properties that the model lacks.
const (
	defaultNetwork   = "VM Network"
	defaultDatastore = "datastore1"
)

// Build adds a datacenter with clusters to an empty inventory. Files of VMs are created below
// a folder. Names of VMs and of hosts are unique among the clusters; networks and datastores
// with equal names are shared.
func Build(ctx context.Context, in *simulator.Service, folder string, clusters []*cluster.Cluster) error {
	b := &builder{service: in, reg: in.Context.Map, folder: folder, networks: map[string]*mo.Network{}, stores: map[string]*simulator.Datastore{}}
	if err := b.datacenter(); err != nil {
		return err
	}
	if err := b.avoid(clusters); err != nil {
		return fmt.Errorf("number the objects: %w", err)
	}
	for _, c := range clusters {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.cluster(ctx, c); err != nil {
			return fmt.Errorf("build the cluster %s: %w", c.Name, err)
		}
	}
	return nil
}

// builder is an inventory in construction.
type builder struct {
	service  *simulator.Service
	reg      *simulator.Registry
	folder   string
	dc       *simulator.Datacenter
	networks map[string]*mo.Network
	stores   map[string]*simulator.Datastore
}

// context is for one call: contexts own locks.
func (b *builder) context() *simulator.Context {
	ctx := *b.service.Context
	return &ctx
}

// faultOf is the error of a call.
func faultOf(r soap.HasFault) error {
	f := r.Fault()
	if f == nil {
		return nil
	}
	return fmt.Errorf("%T: %s", f.VimFault(), f.String)
}

func (b *builder) datacenter() error {
	ctx := b.context()
	root, ok := b.reg.Get(*b.rootFolder()).(*simulator.Folder)
	if !ok {
		return errors.New("the inventory has no root folder")
	}
	if err := faultOf(root.CreateDatacenter(ctx, &types.CreateDatacenter{This: root.Self, Name: Datacenter})); err != nil {
		return fmt.Errorf("create the datacenter: %w", err)
	}
	b.dc = b.reg.Any("Datacenter").(*simulator.Datacenter)
	net := b.reg.Get(b.dc.Network[0]).(*mo.Network)
	b.networks[defaultNetwork] = net
	return nil
}

func (b *builder) rootFolder() *types.ManagedObjectReference {
	for _, f := range b.reg.All("Folder") {
		if f.Entity().Parent == nil {
			ref := f.Reference()
			return &ref
		}
	}
	return &types.ManagedObjectReference{}
}

// network is the network with a name, created if missing. The first one replaces the initial
// network of a datacenter.
func (b *builder) network(name string) *mo.Network {
	if n := b.networks[name]; n != nil {
		return n
	}
	if first := b.networks[defaultNetwork]; first != nil && len(b.networks) == 1 && first.Name == defaultNetwork {
		first.Name, first.Entity().Name = name, name
		first.Summary = &types.NetworkSummary{Network: &first.Self, Name: name, Accessible: true}
		b.networks = map[string]*mo.Network{name: first}
		return first
	}
	n := new(mo.Network)
	n.Name, n.Entity().Name = name, name
	folder := b.reg.Get(b.dc.NetworkFolder).(*simulator.Folder)
	b.reg.PutEntity(folder, n)
	n.Summary = &types.NetworkSummary{Network: &n.Self, Name: name, Accessible: true}
	folder.ChildEntity = append(folder.ChildEntity, n.Self)
	b.dc.Network = append(b.dc.Network, n.Self)
	b.networks[name] = n
	return n
}

// store is the datastore with a name on a host.
func (b *builder) store(name string, host *simulator.HostSystem) (*simulator.Datastore, error) {
	dir := filepath.Join(b.folder, fmt.Sprintf("datastore-%d", len(b.stores)+1))
	if have := b.stores[name]; have != nil {
		dir = have.Summary.Url
	} else if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of datastore %s: %w", name, err)
	}
	system := b.reg.Get(*host.ConfigManager.DatastoreSystem).(*simulator.HostDatastoreSystem)
	if err := faultOf(system.CreateLocalDatastore(b.context(), &types.CreateLocalDatastore{This: system.Self, Name: name, Path: dir})); err != nil {
		return nil, fmt.Errorf("create datastore %s: %w", name, err)
	}
	if b.stores[name] == nil {
		ref := host.Datastore[len(host.Datastore)-1]
		b.stores[name] = b.reg.Get(ref).(*simulator.Datastore)
	}
	return b.stores[name], nil
}
