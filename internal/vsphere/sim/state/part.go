package state

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/collector"
)

// context is for a call to a manager.
func (of Source) context() *simulator.Context {
	own := *of.Service.Context
	own.Session = &simulator.Session{UserSession: types.UserSession{UserName: "plimsoll"}, Registry: simulator.NewRegistry(), Map: of.reg()}
	return &own
}

// singleton is a manager of the service.
func singleton[T mo.Reference](of Source, ref *types.ManagedObjectReference) (m T, ok bool) {
	if ref != nil {
		m, ok = of.reg().Get(*ref).(T)
	}
	return m, ok
}

// parts are the content of the managers.
func (of Source) parts() (parts, error) {
	var p parts
	c := of.content()
	if m, ok := singleton[*simulator.CustomFieldsManager](of, c.CustomFieldsManager); ok {
		p.Fields = m.Field
	}
	if m, ok := singleton[*simulator.AuthorizationManager](of, c.AuthorizationManager); ok {
		p.Roles = m.RoleList
		p.Permissions = m.RetrieveAllPermissions(&types.RetrieveAllPermissions{}).(*methods.RetrieveAllPermissionsBody).Res.Returnval
	}
	if m, ok := singleton[*simulator.OptionManager](of, c.Setting); ok {
		for _, s := range m.Setting {
			if key := s.GetOptionValue().Key; !strings.HasPrefix(key, "vcsim.") && !strings.HasSuffix(key, ".uri") {
				p.Settings = append(p.Settings, s)
			}
		}
	}
	if m, ok := singleton[*simulator.ExtensionManager](of, c.ExtensionManager); ok {
		p.Extensions = m.ExtensionList
	}
	p.Events, p.Tasks = of.Events, of.tasks()
	for _, name := range slices.Sorted(maps.Keys(of.Unregistered)) {
		vm := of.Unregistered[name]
		vm.Self = types.ManagedObjectReference{Type: "VirtualMachine", Value: "unregistered"}
		if c, ok := collector.Content(&vm); ok {
			p.Unregistered = append(p.Unregistered, forget(c))
		}
	}
	return p, of.labels(&p)
}

// tasks are the latest ended ones, oldest first.
func (of Source) tasks() (list []types.TaskInfo) {
	for _, o := range of.reg().AllReference("Task") {
		if t, ok := o.(*simulator.Task); ok && (t.Info.State == types.TaskInfoStateSuccess || t.Info.State == types.TaskInfoStateError) {
			list = append(list, t.Info)
		}
	}
	slices.SortFunc(list, func(a, b types.TaskInfo) int {
		return cmp.Or(a.QueueTime.Compare(b.QueueTime), cmp.Compare(len(a.Key), len(b.Key)), strings.Compare(a.Key, b.Key))
	})
	return list[max(0, len(list)-keptTasks):]
}

// tagger is the tag handler's interface to the tags of objects.
type tagger interface {
	AttachTag(types.ManagedObjectReference, string) types.BaseMethodFault
	AttachedTags(types.ManagedObjectReference) ([]string, types.BaseMethodFault)
}

// labels are the tags, their categories and their objects.
func (of Source) labels(p *parts) (err error) {
	categories, kinds, ok := labelsOf(of.Tags)
	if !ok {
		return nil
	}
	if p.Categories, err = labelledBy(categories); err != nil {
		return err
	}
	if p.Tags, err = labelledBy(kinds); err != nil || len(kinds) == 0 {
		return err
	}
	for _, o := range of.objects() {
		if ids, fault := of.Tags.(tagger).AttachedTags(o.Reference()); fault == nil && len(ids) > 0 {
			slices.Sort(ids)
			p.Attached = append(p.Attached, attached{o.Reference(), ids})
		}
	}
	return nil
}

func labelledBy[T any](all map[string]T) (list []labelled, err error) {
	for _, id := range slices.Sorted(maps.Keys(all)) {
		text, err := json.Marshal(all[id])
		if err != nil {
			return nil, err
		}
		list = append(list, labelled{id, string(text)})
	}
	return list, nil
}

// labelsOf reads the tags from their handler by reflection, as it has no methods that list
// them.
func labelsOf(handler any) (categories map[string]*tags.Category, kinds map[string]*tags.Tag, ok bool) {
	if _, ok := handler.(tagger); !ok {
		return nil, nil, false
	}
	v := reflect.Indirect(reflect.ValueOf(handler))
	if v.Kind() != reflect.Struct {
		return nil, nil, false
	}
	c, t := v.FieldByName("Category"), v.FieldByName("Tag")
	if a := v.FieldByName("Association"); !c.IsValid() || !t.IsValid() || !a.IsValid() || a.Kind() != reflect.Map {
		return nil, nil, false
	}
	categories, has := c.Interface().(map[string]*tags.Category)
	kinds, ok = t.Interface().(map[string]*tags.Tag)
	return categories, kinds, ok && has
}

// Attach loads the tags into their handler.
func (s *State) Attach(handler any) error {
	categories, kinds, ok := labelsOf(handler)
	if !ok {
		return errors.New("the tag handler has an unknown structure")
	}
	objects := reflect.Indirect(reflect.ValueOf(handler)).FieldByName("Association") // objects with a tag, by the tag
	for _, c := range s.parts.Categories {
		made := new(tags.Category)
		if err := json.Unmarshal([]byte(c.JSON), made); err != nil {
			return err
		}
		categories[c.ID] = made
	}
	for _, t := range s.parts.Tags {
		made := new(tags.Tag)
		if err := json.Unmarshal([]byte(t.JSON), made); err != nil {
			return err
		}
		kinds[t.ID] = made
		objects.SetMapIndex(reflect.ValueOf(t.ID), reflect.MakeMap(objects.Type().Elem()))
	}
	for _, a := range s.parts.Attached {
		for _, id := range a.Tags {
			handler.(tagger).AttachTag(a.Object, id)
		}
	}
	return nil
}
