package hand

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/session"
)

// The kinds of objects with required privileges.
const (
	onCluster = "the cluster"
	onVMs     = "VMs"
	onHosts   = "hosts"
	onVCenter = "the vCenter"
)

// needs are the privileges of the actions, including those to read.
var needs = map[live.Action]map[string][]string{
	live.Read:     {onCluster: {"System.View", "System.Read"}},
	live.Move:     {onVMs: {"Resource.HotMigrate", "Resource.ColdMigrate"}},
	live.Power:    {onVMs: {"VirtualMachine.Interact.PowerOn", "VirtualMachine.Interact.PowerOff"}},
	live.Reshape:  {onVMs: {"VirtualMachine.Config.AdvancedConfig", "VirtualMachine.Config.CPUCount"}},
	live.Maintain: {onHosts: {"Host.Config.Maintenance"}},
	live.Comply:   {onCluster: {"System.View", "System.Read"}, onVCenter: {"StorageProfile.View"}},
}

// mostAsked is the maximum number of objects per query.
const mostAsked = 1000

// Missing implements live.Hand.
func (h *Hand) Missing(ctx context.Context, a live.Action) ([]string, error) {
	needed, known := needs[a]
	if !known {
		return nil, fmt.Errorf("no action %q", a)
	}
	if err := h.book.Fill(ctx, h.session, h.cluster); err != nil {
		return nil, err
	}
	vms, hosts := h.book.All()
	objects := map[string]map[string]reference{
		onCluster: {onCluster: h.cluster}, onVMs: vms, onHosts: hosts, onVCenter: {onVCenter: h.client().ServiceContent.RootFolder},
	}
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(needed)) {
		lacking, err := Lacking(ctx, h.session, objects[kind], needed[kind])
		if err != nil {
			return nil, fmt.Errorf("check the privileges of %s: %w", h.session.User(), err)
		}
		for _, privilege := range needed[kind] {
			if names := lacking[privilege]; len(names) > 0 {
				out = append(out, fmt.Sprintf("%s on %s", privilege, some(names)))
			}
		}
	}
	return out, nil
}

// Lacking lists, by privilege, the names of objects on which the account of a session lacks
// it.
func Lacking(ctx context.Context, s *session.Session, objects map[string]types.ManagedObjectReference, privileges []string) (map[string][]string, error) {
	names := slices.Sorted(maps.Keys(objects))
	out := map[string][]string{}
	for part := range slices.Chunk(names, mostAsked) {
		request := types.HasUserPrivilegeOnEntities{This: *s.Client().ServiceContent.AuthorizationManager, UserName: s.User(), PrivId: privileges}
		name := map[reference]string{}
		for _, n := range part {
			request.Entities = append(request.Entities, objects[n])
			name[objects[n]] = n
		}
		answer, err := methods.HasUserPrivilegeOnEntities(ctx, s.Client(), &request)
		if err != nil {
			return nil, err
		}
		for _, e := range answer.Returnval {
			for _, p := range e.PrivAvailability {
				if !p.IsGranted {
					out[p.PrivId] = append(out[p.PrivId], name[e.Entity])
				}
			}
		}
	}
	return out, nil
}
