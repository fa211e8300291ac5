// Package vsphere is live clusters of VMware vSphere. It and the packages below it are the
// only ones that import govmomi.
package vsphere

import (
	"context"
	"errors"

	"plimsoll/internal/cluster/policy"
	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/hand"
	"plimsoll/internal/vsphere/inventory"
	"plimsoll/internal/vsphere/session"
	"plimsoll/internal/vsphere/storage"
)

// Kind is the management interface of vSphere, through a vCenter.
func Kind() live.Kind {
	return live.Kind{
		Scheme:  "vsphere",
		Doc:     "a cluster of a vCenter",
		Example: "vsphere://operator@vcenter.example/Datacenter/Cluster?password=file:/run/secrets/vcenter",
		Open:    open,
	}
}

func open(ctx context.Context, at live.Address) (live.Connection, error) {
	s, err := session.Open(ctx, at)
	if err != nil {
		return live.Connection{}, err
	}
	of, err := inventory.Find(ctx, s, at.Path)
	if err != nil {
		return live.Connection{}, errors.Join(err, s.Close())
	}
	book := &inventory.NameIndex{}
	changes := hand.New(s, of, book)
	c := live.Connection{Source: inventory.NewSource(s, of, book), Hand: changes, Shaper: changes, Close: s.Close}
	c.Policies = func(ctx context.Context) (*policy.Inventory, error) { return storage.Read(ctx, s, of) }
	if id := s.Client().ServiceContent.About.InstanceUuid; id != "" {
		c.Identity = []string{"vcenter/" + id + "/" + of.Value}
	}
	return c, nil
}
