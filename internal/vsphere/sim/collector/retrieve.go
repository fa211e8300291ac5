package collector

import (
	"reflect"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/replica"
	"plimsoll/internal/vsphere/sim/shadow"
)

// selection is the objects that specifications select.
type selection struct {
	ctx   *simulator.Context
	named map[string]*types.TraversalSpec
	walks map[walk]bool
	refs  []types.ManagedObjectReference
	has   map[types.ManagedObjectReference]bool
	// visit is called for each traversed object, before its traversal.
	visit func(types.ManagedObjectReference)
}

// walk is the traversal of an object by a specification, made once because of cycles.
type walk struct {
	ref  types.ManagedObjectReference
	path *types.TraversalSpec
}

func newSelection(ctx *simulator.Context, visit func(types.ManagedObjectReference)) *selection {
	return &selection{ctx: ctx, named: map[string]*types.TraversalSpec{}, walks: map[walk]bool{}, has: map[types.ManagedObjectReference]bool{}, visit: visit}
}

func (s *selection) add(ref types.ManagedObjectReference) {
	if !s.has[ref] {
		s.has[ref] = true
		s.refs = append(s.refs, ref)
	}
}

// object adds the selection of an object specification.
func (s *selection) object(o *types.ObjectSpec) types.BaseMethodFault {
	o.Obj = shadow.Actual(s.ctx.Map, o.Obj)
	s.visit(o.Obj)
	if s.ctx.Session.Get(o.Obj) == nil {
		return &types.ManagedObjectNotFound{Obj: o.Obj}
	}
	if o.Skip == nil || !*o.Skip || o.SelectSet == nil {
		s.add(o.Obj)
	}
	return s.traverse(o.Obj, o.SelectSet)
}

func (s *selection) traverse(ref types.ManagedObjectReference, set []types.BaseSelectionSpec) types.BaseMethodFault {
	for _, spec := range set {
		if t, ok := spec.(*types.TraversalSpec); ok && t.Name != "" {
			s.named[t.Name] = t
		}
	}
	for _, spec := range set {
		t, ok := spec.(*types.TraversalSpec)
		if !ok {
			if t = s.named[spec.GetSelectionSpec().Name]; t == nil {
				return &types.InvalidArgument{InvalidProperty: "undefined TraversalSpec name"}
			}
		}
		if s.walks[walk{ref, t}] {
			continue
		}
		s.walks[walk{ref, t}] = true
		s.visit(ref)
		for _, to := range s.follow(ref, t.Path) {
			if t.Skip == nil || !*t.Skip {
				s.add(to)
			}
			if len(t.SelectSet) > 0 {
				if fault := s.traverse(to, t.SelectSet); fault != nil {
					return fault
				}
			}
		}
	}
	return nil
}

// follow lists the references of a property.
func (s *selection) follow(ref types.ManagedObjectReference, path string) (refs []types.ManagedObjectReference) {
	s.ctx.WithLock(ref, func() {
		if o := s.ctx.Session.Get(ref); o != nil {
			if v, ok := managed(o); ok {
				to, _ := field(v, path)
				refs = slices.Clone(references(to))
			}
		}
	})
	return refs
}

// content reads the properties of an object. It is not ok if the object was removed, or no
// properties are requested.
func content(ctx *simulator.Context, ref types.ManagedObjectReference, sets []types.PropertySpec) (c types.ObjectContent, ok bool) {
	ctx.WithLock(ref, func() {
		o := ctx.Session.Get(ref)
		if o == nil {
			return
		}
		v, has := managed(o)
		if !has {
			return
		}
		c.Obj = ref
		for _, set := range sets {
			if is(v, ref, set.Type) {
				ok = true
				fill(&c, v, set)
			}
		}
	})
	return c, ok
}

// fill adds the properties of a set. Values are copied, as the reply is encoded without the
// lock.
func fill(c *types.ObjectContent, v reflect.Value, set types.PropertySpec) {
	seen := map[string]bool{}
	for _, p := range c.PropSet {
		seen[p.Name] = true
	}
	if set.All != nil && *set.All {
		every(v, func(name string, value types.AnyType) {
			if !seen[name] {
				c.PropSet = append(c.PropSet, types.DynamicProperty{Name: name, Val: replica.Of(value)})
			}
		})
		return
	}
	for _, name := range set.PathSet {
		if seen[name] {
			continue
		}
		seen[name] = true
		value, err := property(v, name)
		switch {
		case err != nil:
			c.MissingSet = append(c.MissingSet, types.MissingProperty{Path: name, Fault: types.LocalizedMethodFault{Fault: &types.InvalidProperty{Name: name}}})
		case value != nil:
			c.PropSet = append(c.PropSet, types.DynamicProperty{Name: name, Val: replica.Of(value)})
		}
	}
}

// retrieve reads the properties of all selected objects.
func retrieve(ctx *simulator.Context, specs []types.PropertyFilterSpec) (list []types.ObjectContent, fault types.BaseMethodFault) {
	for i := range specs {
		s := newSelection(ctx, func(types.ManagedObjectReference) {})
		lenient := specs[i].ReportMissingObjectsInResults != nil && *specs[i].ReportMissingObjectsInResults
		for k := range specs[i].ObjectSet {
			if fault := s.object(&specs[i].ObjectSet[k]); fault != nil {
				if _, missing := fault.(*types.ManagedObjectNotFound); missing && lenient {
					continue
				}
				return nil, fault
			}
		}
		for _, ref := range s.refs {
			if c, ok := content(ctx, ref, specs[i].PropSet); ok {
				list = append(list, c)
			}
		}
	}
	return list, nil
}

// Content is all properties of an immutable object.
func Content(of mo.Reference) (c types.ObjectContent, ok bool) {
	v, ok := managed(of)
	if !ok {
		return c, false
	}
	c.Obj = of.Reference()
	fill(&c, v, types.PropertySpec{All: types.NewBool(true)})
	return c, true
}
