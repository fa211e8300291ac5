package state

import (
	"fmt"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/replica"
)

// mostKeys is the maximum key of custom fields and roles.
const mostKeys = 1 << 16

// managers loads the content of the managers.
func (l *loader) managers() error {
	p, c := replica.Renamed(l.of.parts, l.rename), l.to.content()
	if m, ok := singleton[*simulator.CustomFieldsManager](l.to, c.CustomFieldsManager); ok {
		l.fields(m, p.Fields)
	}
	if m, ok := singleton[*simulator.AuthorizationManager](l.to, c.AuthorizationManager); ok {
		l.rights(m, p)
	}
	if m, ok := singleton[*simulator.OptionManager](l.to, c.Setting); ok {
		m.UpdateOptions(&types.UpdateOptions{This: m.Self, ChangedValue: p.Settings})
	}
	if m, ok := singleton[*simulator.ExtensionManager](l.to, c.ExtensionManager); ok {
		for _, e := range p.Extensions {
			if !slices.ContainsFunc(m.ExtensionList, func(has types.Extension) bool { return has.Key == e.Key }) {
				m.ExtensionList = append(m.ExtensionList, e)
			}
		}
	}
	l.history(p)
	return nil
}

// fields loads custom fields. New ones get unused keys: the manager counts, and its counter
// cannot be set.
func (l *loader) fields(m *simulator.CustomFieldsManager, list []types.CustomFieldDef) {
	most := int32(-1)
	for _, f := range list {
		most = max(most, min(f.Key, mostKeys))
	}
	for key := int32(-1); key < most; {
		body, ok := m.AddCustomFieldDef(l.to.context(), &types.AddCustomFieldDef{This: m.Self, Name: "plimsoll-probe", MoType: "none"}).(*methods.AddCustomFieldDefBody)
		if !ok || body.Res == nil {
			break
		}
		key = body.Res.Returnval.Key
		m.RemoveCustomFieldDef(l.to.context(), &types.RemoveCustomFieldDef{This: m.Self, Key: key})
	}
	m.Field = list
}

// rights loads roles and permissions.
func (l *loader) rights(m *simulator.AuthorizationManager, p parts) {
	most := int32(-1)
	for _, r := range p.Roles {
		if !r.System {
			most = max(most, min(r.RoleId, mostKeys))
		}
	}
	for id := int32(-1); id < most; {
		m.AddAuthorizationRole(&types.AddAuthorizationRole{This: m.Self, Name: "plimsoll-probe"})
		last := m.RoleList[len(m.RoleList)-1]
		if last.Name != "plimsoll-probe" {
			break
		}
		id, m.RoleList = last.RoleId, m.RoleList[:len(m.RoleList)-1]
	}
	if len(p.Roles) > 0 {
		m.RoleList = p.Roles
	}
	by := map[types.ManagedObjectReference][]types.Permission{}
	for _, permission := range p.Permissions {
		if permission.Entity != nil {
			by[*permission.Entity] = append(by[*permission.Entity], permission)
		}
	}
	for ref, list := range by {
		m.SetEntityPermissions(&types.SetEntityPermissions{This: m.Self, Entity: ref, Permission: list})
	}
}

// history loads events and tasks. Events get new numbers.
func (l *loader) history(p parts) {
	events := l.to.reg().EventManager()
	for _, e := range p.Events {
		was := *e.GetEvent()
		ctx := l.to.context()
		ctx.WithLock(events, func() { events.PostEvent(ctx, &types.PostEvent{This: events.Self, EventToPost: e}) })
		is := e.GetEvent()
		is.CreatedTime, is.UserName, is.FullFormattedMessage = was.CreatedTime, was.UserName, was.FullFormattedMessage
	}
	for _, info := range p.Tasks {
		if info.Entity == nil {
			continue
		}
		t := new(simulator.Task)
		t.Self, t.Info = info.Task, info
		l.to.reg().Put(t)
	}
}

// Unregistered are unregistered VMs, by the paths of their files, with datastores in a folder.
func (s *State) Unregistered(folder string) (map[string]simulator.VirtualMachine, error) {
	list := map[string]simulator.VirtualMachine{}
	for _, c := range s.parts.Unregistered {
		vm := simulator.VirtualMachine{DataSets: map[string]*simulator.DataSet{}}
		if err := fillIn(&vm, replica.Renamed(c, s.renamer(folder))); err != nil {
			return nil, fmt.Errorf("load a VM that is not registered: %w", err)
		}
		if vm.Config == nil {
			return nil, fmt.Errorf("load a VM that is not registered: it has no configuration")
		}
		list[vm.Config.Files.VmPathName] = vm
	}
	return list, nil
}
