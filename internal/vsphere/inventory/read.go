package inventory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/session"
)

// farewell is the time limit of calls that free resources of the vCenter.
const farewell = 5 * time.Second

// view makes a view of the objects of some kinds below another.
func view(ctx context.Context, c *vim25.Client, root types.ManagedObjectReference, kinds []string) (types.ManagedObjectReference, error) {
	answer, err := methods.CreateContainerView(ctx, c, &types.CreateContainerView{This: *c.ServiceContent.ViewManager, Container: root, Type: kinds, Recursive: true})
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	return answer.Returnval, nil
}

// inView selects the objects of a view.
func inView(ref types.ManagedObjectReference) types.ObjectSpec {
	return types.ObjectSpec{Obj: ref, Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: ref.Type, Path: "view"}}}
}

// viewed reads properties of all objects of some kinds below another.
func viewed(ctx context.Context, c *vim25.Client, root types.ManagedObjectReference, wanted map[string][]string, take func(types.ObjectContent)) error {
	kinds := slices.Sorted(maps.Keys(wanted))
	ref, err := view(ctx, c, root, kinds)
	if err != nil {
		return err
	}
	defer release(func(ctx context.Context) error {
		_, err := methods.DestroyView(ctx, c, &types.DestroyView{This: ref})
		return err
	})
	spec := types.PropertyFilterSpec{ObjectSet: []types.ObjectSpec{inView(ref)}}
	for _, kind := range kinds {
		spec.PropSet = append(spec.PropSet, types.PropertySpec{Type: kind, PathSet: wanted[kind]})
	}
	return retrieve(ctx, c, spec, take)
}

// Below reads properties of all objects of some kinds below another.
func Below(ctx context.Context, s *session.Session, root types.ManagedObjectReference, wanted map[string][]string, take func(types.ObjectContent)) error {
	return viewed(ctx, s.Client(), root, wanted, take)
}

// Read reads properties of objects, by kind. Deleted and hidden objects are skipped.
func Read(ctx context.Context, s *session.Session, objects []types.ManagedObjectReference, properties func(kind string) []string, take func(types.ObjectContent)) error {
	return read(ctx, s.Client(), objects, properties, take)
}

// read reads properties of objects, by kind. Deleted and hidden objects are skipped: since the
// vCenter then refuses the whole request, each half is requested.
func read(ctx context.Context, c *vim25.Client, objects []types.ManagedObjectReference, properties func(kind string) []string, take func(types.ObjectContent)) error {
	err := readAll(ctx, c, objects, properties, take)
	if !fault.Is(err, &types.ManagedObjectNotFound{}) && !fault.Is(err, &types.NoPermission{}) {
		return err
	}
	if len(objects) < 2 {
		return nil
	}
	half := len(objects) / 2
	if err := read(ctx, c, objects[:half], properties, take); err != nil {
		return err
	}
	return read(ctx, c, objects[half:], properties, take)
}

func readAll(ctx context.Context, c *vim25.Client, objects []types.ManagedObjectReference, properties func(kind string) []string, take func(types.ObjectContent)) error {
	spec := types.PropertyFilterSpec{}
	var kinds []string
	for _, o := range objects {
		if !slices.Contains(kinds, o.Type) {
			kinds = append(kinds, o.Type)
			spec.PropSet = append(spec.PropSet, types.PropertySpec{Type: o.Type, PathSet: properties(o.Type)})
		}
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: o})
	}
	return retrieve(ctx, c, spec, take)
}

func retrieve(ctx context.Context, c *vim25.Client, spec types.PropertyFilterSpec, take func(types.ObjectContent)) error {
	objects, err := mo.RetrievePropertiesEx(ctx, c, types.RetrievePropertiesEx{This: c.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{spec}})
	for _, o := range objects {
		take(o)
	}
	return err
}

// release frees resources of the vCenter, even after the end of the context. A failure does
// not matter: the vCenter frees them with the session.
func release(free func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_ = free(ctx)
}

// Each reads properties of all objects of some kinds below another.
func Each(ctx context.Context, c *vim25.Client, root types.ManagedObjectReference, wanted map[string][]string, take func(types.ObjectContent)) error {
	return viewed(ctx, c, root, wanted, take)
}
