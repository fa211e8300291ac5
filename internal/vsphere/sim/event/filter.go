package event

import (
	"reflect"
	"slices"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// matches reports whether an event matches a filter. The log is locked.
func (l *Log) matches(e types.BaseEvent, f *types.EventFilterSpec) bool {
	is := e.GetEvent()
	switch {
	case f.EventChainId != 0 && f.EventChainId != is.ChainId:
		return false
	case f.Time != nil && (f.Time.BeginTime != nil && is.CreatedTime.Before(*f.Time.BeginTime) || f.Time.EndTime != nil && is.CreatedTime.After(*f.Time.EndTime)):
		return false
	case f.UserName != nil && !(f.UserName.SystemUser && is.UserName == "" || slices.Contains(f.UserName.UserList, is.UserName)):
		return false
	case len(f.Category) > 0 && !slices.Contains(f.Category, l.formats[kind(e)].category):
		return false
	case len(f.EventTypeId) > 0 && !typed(e, f.EventTypeId):
		return false
	}
	return f.Entity == nil || l.about(e, f.Entity)
}

// typed reports whether an event is of one of some types, or of a derived type.
func typed(e types.BaseEvent, names []string) bool {
	if x, ok := e.(*types.EventEx); ok {
		return slices.Contains(names, x.EventTypeId)
	}
	t := reflect.TypeOf(e).Elem()
	if slices.Contains(names, t.Name()) {
		return true
	}
	f, ok := t.FieldByNameFunc(func(name string) bool { return slices.Contains(names, name) })
	return ok && f.Anonymous
}

// about reports whether an event concerns an object, its descendants, or both.
func (l *Log) about(e types.BaseEvent, f *types.EventFilterSpecByEntity) bool {
	self, below := f.Recursion != types.EventFilterSpecRecursionOptionChildren, f.Recursion != types.EventFilterSpecRecursionOptionSelf
	if self && f.Entity == l.root {
		return true
	}
	for _, ref := range objects(e) {
		if self && ref == f.Entity || below && ref != f.Entity && l.below(ref, f.Entity, mostDepth) {
			return true
		}
	}
	return false
}

// objects are those that an event concerns.
func objects(e types.BaseEvent) (list []reference) {
	if x, ok := e.(*types.EventEx); ok {
		list = append(list, reference{Type: x.ObjectType, Value: x.ObjectId})
	}
	is := e.GetEvent()
	if is.Vm != nil {
		list = append(list, is.Vm.Vm)
	}
	if is.Host != nil {
		list = append(list, is.Host.Host)
	}
	if is.ComputeResource != nil {
		list = append(list, is.ComputeResource.ComputeResource)
	}
	if is.Ds != nil {
		list = append(list, is.Ds.Datastore)
	}
	if is.Net != nil {
		list = append(list, is.Net.Network)
	}
	if is.Dvs != nil {
		list = append(list, is.Dvs.Dvs)
	}
	if is.Datacenter != nil {
		list = append(list, is.Datacenter.Datacenter)
	}
	return list
}

// parents are the parents of a VM.
type parents struct{ folder, pool, host reference }

// locate records the parents of a VM. Its lock is held, or the VM is not published yet.
func (l *Log) locate(v *mo.VirtualMachine) {
	var at parents
	for to, from := range map[*reference]*reference{&at.folder: v.Parent, &at.pool: v.ResourcePool, &at.host: v.Runtime.Host} {
		if from != nil {
			*to = *from
		}
	}
	l.m.Lock()
	defer l.m.Unlock()
	l.above[v.Self] = at
}

// mostDepth is the maximum depth of an inventory.
const mostDepth = 64

// below reports whether an object is below another. The log is locked.
func (l *Log) below(ref, other reference, depth int) bool {
	if depth == 0 {
		return false
	}
	var above []reference
	if at, is := l.above[ref]; is {
		above = []reference{at.folder, at.pool, at.host}
	} else if o, is := l.reg.Get(ref).(mo.Entity); is && ref.Type != "VirtualMachine" && o.Entity().Parent != nil {
		above = []reference{*o.Entity().Parent}
	}
	return slices.ContainsFunc(above, func(a reference) bool { return a.Value != "" && (a == other || l.below(a, other, depth-1)) })
}
