package collector

import (
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// entries are the last reported values of list entries that a filter names by key, such as
// config.hardware.device[4000]. They decide whether an update adds, changes or removes an
// entry.
type entries map[types.ManagedObjectReference]map[string]types.AnyType

// isEntry reports whether a path names an entry of a list, or a part of one.
func isEntry(path string) bool { return strings.Contains(path, "[") }

// keep stores the reported values of an object.
func (e entries) keep(ref types.ManagedObjectReference, set []types.DynamicProperty) {
	for _, p := range set {
		if isEntry(p.Name) {
			e.put(ref, p)
		}
	}
}

func (e entries) put(ref types.ManagedObjectReference, p types.DynamicProperty) {
	if e[ref] == nil {
		e[ref] = map[string]types.AnyType{}
	}
	e[ref][p.Name] = p.Val
}

// changed adds a present entry to an update. An unchanged entry is omitted, unless a change
// named it.
func (e entries) changed(set []types.PropertyChange, ref types.ManagedObjectReference, p types.DynamicProperty, names map[string]bool) []types.PropertyChange {
	op, named := types.PropertyChangeOpAdd, false
	if before, had := e[ref][p.Name]; had {
		op = types.PropertyChangeOpAssign
		for name := range names {
			named = named || isEntry(name) && touches(name, p.Name)
		}
		if !named && reflect.DeepEqual(before, p.Val) {
			return set
		}
	}
	e.put(ref, p)
	return append(set, types.PropertyChange{Op: op, Name: p.Name, Val: p.Val})
}

// removed adds an absent entry to an update, if it was present.
func (e entries) removed(set []types.PropertyChange, ref types.ManagedObjectReference, path string) []types.PropertyChange {
	if _, had := e[ref][path]; !had {
		return set
	}
	delete(e[ref], path)
	return append(set, types.PropertyChange{Op: types.PropertyChangeOpRemove, Name: path})
}

// absent are the absent entries that a filter names, as changes without a value.
func absent(c types.ObjectContent, sets []types.PropertySpec) (list []types.PropertyChange) {
	has := map[string]bool{}
	for _, p := range c.PropSet {
		has[p.Name] = true
	}
	for _, m := range c.MissingSet {
		has[m.Path] = true
	}
	for _, s := range sets {
		for _, path := range s.PathSet {
			if isEntry(path) && !has[path] && s.Type == c.Obj.Type {
				has[path] = true
				list = append(list, types.PropertyChange{Op: types.PropertyChangeOpAssign, Name: path})
			}
		}
	}
	return list
}
