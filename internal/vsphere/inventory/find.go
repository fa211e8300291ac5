package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/live"
	"plimsoll/internal/load"
	"plimsoll/internal/vsphere/config"
	"plimsoll/internal/vsphere/session"
)

// Open connects to the vCenter of an endpoint, which has the address of a cluster as its URL, or the path of the cluster
// as its database.
func Open(ctx context.Context, at load.Endpoint) (s *session.Session, of types.ManagedObjectReference, err error) {
	address, err := session.Address(at)
	if err != nil {
		return nil, of, err
	}
	if s, err = session.Open(ctx, address); err != nil {
		return nil, of, err
	}
	if of, err = Find(ctx, s, address.Path); err != nil {
		return nil, of, errors.Join(err, s.Close())
	}
	return s, of, nil
}

// Find is the cluster at a path, DATACENTER/CLUSTER or CLUSTER alone. The path may be empty if
// there is only one cluster.
func Find(ctx context.Context, s *session.Session, path string) (types.ManagedObjectReference, error) {
	none := types.ManagedObjectReference{}
	clusters, err := paths(ctx, s.Client())
	if err != nil {
		return none, fmt.Errorf("list the clusters: %w", err)
	}
	if len(clusters) == 0 {
		return none, errors.New("no cluster is visible to this account: it needs the privilege System.View on one")
	}
	var fit []place
	path = strings.Trim(path, "/")
	for _, c := range clusters {
		if path == "" || c.path == path || strings.HasSuffix(c.path, "/"+path) {
			fit = append(fit, c)
		}
	}
	if len(fit) == 1 {
		return fit[0].ref, nil
	}
	known := "the vCenter has " + listed(clusters)
	switch {
	case path == "":
		return none, mistake("the address has no cluster; %s", known)
	case len(fit) == 0:
		return none, mistake("no cluster %s; %s", path, known)
	}
	return none, mistake("%s is the name of several clusters: %s", path, listed(fit))
}

func mistake(format string, args ...any) error {
	return &live.Mistake{Err: fmt.Errorf(format, args...)}
}

type place struct {
	path string
	ref  types.ManagedObjectReference
}

func listed(clusters []place) string {
	names := make([]string, len(clusters))
	for i, c := range clusters {
		names[i] = c.path
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// paths lists the clusters by datacenter and name. Folders are not part of a path.
func paths(ctx context.Context, c *vim25.Client) ([]place, error) {
	located := []string{"name", "parent"}
	wanted := map[string][]string{"Datacenter": located, "Folder": located, "ClusterComputeResource": located}
	above := map[types.ManagedObjectReference]types.ManagedObjectReference{}
	names := map[types.ManagedObjectReference]string{}
	err := viewed(ctx, c, c.ServiceContent.RootFolder, wanted, func(o types.ObjectContent) {
		for _, p := range o.PropSet {
			switch v := p.Val.(type) {
			case string:
				names[o.Obj] = v
			case types.ManagedObjectReference:
				above[o.Obj] = v
			}
		}
	})
	if err != nil {
		return nil, err
	}
	var found []place
	for ref, name := range names {
		if ref.Type != "ClusterComputeResource" {
			continue
		}
		at, steps := ref, 0
		for ; at.Type != "Datacenter" && at.Value != "" && steps < len(names); steps++ {
			at = above[at]
		}
		found = append(found, place{path: config.Plain(names[at]) + "/" + config.Plain(name), ref: ref})
	}
	return found, nil
}
