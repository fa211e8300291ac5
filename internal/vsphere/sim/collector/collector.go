// Package collector is a property collector with incremental updates: the cost of a change
// depends on the changed object. The original reads all objects of a filter for each change in
// the inventory.
package collector

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/vsphere/sim/task"
)

// mostUpdates is the maximum number of objects in an update, as in vCenter.
const mostUpdates = 100

// Collector is a property collector. Its zero value is valid: the simulator creates one per
// session by reflection.
type Collector struct {
	simulator.PropertyCollector

	m       sync.Mutex
	filters []*filter
	wake    chan struct{}
	cancel  context.CancelFunc
	version int
	pending []types.PropertyFilterUpdate
}

// Install replaces the property collector of a simulator. The returned function ends all
// waits.
func Install(reg *simulator.Registry, at types.ManagedObjectReference) (stop func()) {
	h := &hub{
		about: map[types.ManagedObjectReference]map[*filter]bool{}, watches: map[*filter]map[types.ManagedObjectReference]bool{},
		byName: map[types.ManagedObjectReference]*filter{}, waiting: map[*Collector]bool{}, pages: map[string]page{},
	}
	reg.Put(h)
	reg.AddHandler(h)
	pc := new(Collector)
	pc.Self = at
	reg.Put(pc)
	return h.close
}

// CreatePropertyCollector makes a collector of the session.
func (*Collector) CreatePropertyCollector(ctx *simulator.Context, _ *types.CreatePropertyCollector) soap.HasFault {
	made := new(Collector)
	made.Self = hubOf(ctx).name(ctx, "PropertyCollector")
	ctx.Session.Registry.Put(made)
	return &methods.CreatePropertyCollectorBody{Res: &types.CreatePropertyCollectorResponse{Returnval: made.Self}}
}

// DestroyPropertyCollector removes a collector with its filters.
func (pc *Collector) DestroyPropertyCollector(ctx *simulator.Context, _ *types.DestroyPropertyCollector) soap.HasFault {
	pc.Stop()
	pc.m.Lock()
	filters := pc.filters
	pc.filters = nil
	pc.m.Unlock()
	h := hubOf(ctx)
	for _, f := range filters {
		h.drop(f)
		ctx.Session.Remove(ctx, f.Self)
	}
	ctx.Session.Remove(ctx, pc.Self)
	return &methods.DestroyPropertyCollectorBody{Res: new(types.DestroyPropertyCollectorResponse)}
}

// CreateFilter adds a filter.
func (pc *Collector) CreateFilter(ctx *simulator.Context, r *types.CreateFilter) soap.HasFault {
	f := &filter{
		hub: hubOf(ctx), pc: pc, fresh: true, changed: map[types.ManagedObjectReference]map[string]bool{}, gone: map[types.ManagedObjectReference]bool{},
		members: map[types.ManagedObjectReference]bool{}, visited: map[types.ManagedObjectReference]bool{},
	}
	f.Self = f.hub.name(ctx, "PropertyFilter")
	f.Spec, f.PartialUpdates = r.Spec, r.PartialUpdates
	ctx.Session.Registry.Put(f)
	f.hub.add(f)
	pc.m.Lock()
	pc.filters = append(pc.filters, f)
	pc.Filter = append(pc.Filter, f.Self)
	pc.m.Unlock()
	pc.wakeUp()
	return &methods.CreateFilterBody{Res: &types.CreateFilterResponse{Returnval: f.Self}}
}

func (pc *Collector) drop(f *filter) {
	pc.m.Lock()
	defer pc.m.Unlock()
	for i, other := range pc.filters {
		if other == f {
			pc.filters = append(pc.filters[:i:i], pc.filters[i+1:]...)
			pc.Filter = append(pc.Filter[:i:i], pc.Filter[i+1:]...)
			return
		}
	}
}

// signal is the channel that signals changes.
func (pc *Collector) signal() chan struct{} {
	pc.m.Lock()
	defer pc.m.Unlock()
	if pc.wake == nil {
		pc.wake = make(chan struct{}, 1)
	}
	return pc.wake
}

func (pc *Collector) wakeUp() {
	select {
	case pc.signal() <- struct{}{}:
	default:
	}
}

// Stop ends the wait.
func (pc *Collector) Stop() {
	pc.m.Lock()
	defer pc.m.Unlock()
	if pc.cancel != nil {
		pc.cancel()
	}
}

// CancelWaitForUpdates ends the wait.
func (pc *Collector) CancelWaitForUpdates(*types.CancelWaitForUpdates) soap.HasFault {
	pc.Stop()
	return &methods.CancelWaitForUpdatesBody{Res: new(types.CancelWaitForUpdatesResponse)}
}

// WaitForUpdatesEx returns the changes since a version, and waits until there are some.
func (pc *Collector) WaitForUpdatesEx(ctx *simulator.Context, r *types.WaitForUpdatesEx) soap.HasFault {
	body := new(methods.WaitForUpdatesExBody)
	task.Leave(ctx)
	wait, cancel, most, once := limits(ctx, r.Options)
	defer cancel()
	if !hubOf(ctx).wait(pc, true) {
		body.Fault_ = simulator.Fault("", new(types.RequestCanceled))
		return body
	}
	defer hubOf(ctx).wait(pc, false)
	if fault := pc.begin(r.Version, cancel); fault != nil {
		body.Fault_ = simulator.Fault("", fault)
		return body
	}
	signal := pc.signal()
	for {
		set, fault := pc.next(ctx, most)
		if fault != nil {
			body.Fault_ = simulator.Fault("", fault)
			return body
		}
		if set != nil || once {
			body.Res = &types.WaitForUpdatesExResponse{Returnval: set}
			return body
		}
		select {
		case <-signal:
		case <-wait.Done():
			if wait.Err() == context.Canceled {
				body.Fault_ = simulator.Fault("", new(types.RequestCanceled))
				return body
			}
			body.Res = new(types.WaitForUpdatesExResponse)
			return body
		}
	}
}

// limits are the maximum wait of a call, and the maximum number of objects of its reply. A
// wait ends with its connection.
func limits(ctx context.Context, o *types.WaitOptions) (wait context.Context, cancel context.CancelFunc, most int, once bool) {
	most = mostUpdates
	if o != nil && o.MaxObjectUpdates > 0 {
		most = min(most, int(o.MaxObjectUpdates))
	}
	if o == nil || o.MaxWaitSeconds == nil {
		wait, cancel = context.WithCancel(ctx)
		return wait, cancel, most, false
	}
	wait, cancel = context.WithTimeout(ctx, time.Duration(*o.MaxWaitSeconds)*time.Second)
	return wait, cancel, most, *o.MaxWaitSeconds == 0
}

// begin records that a call waits. Without a version everything is reported again.
func (pc *Collector) begin(version string, cancel context.CancelFunc) types.BaseMethodFault {
	pc.m.Lock()
	defer pc.m.Unlock()
	pc.cancel = cancel
	if version == "" {
		pc.pending = nil
		for _, f := range pc.filters {
			f.restart()
		}
		return nil
	}
	if n, err := strconv.Atoi(version); err != nil || n > pc.version {
		return &types.InvalidCollectorVersion{}
	}
	return nil
}

// next is the next update; nil if nothing has changed.
func (pc *Collector) next(ctx *simulator.Context, most int) (*types.UpdateSet, types.BaseMethodFault) {
	pc.m.Lock()
	pending, filters := pc.pending, append([]*filter(nil), pc.filters...)
	pc.pending = nil
	pc.m.Unlock()
	if len(pending) == 0 {
		for _, f := range filters {
			list, fault := f.updates(ctx)
			if fault != nil {
				return nil, fault
			}
			if len(list) > 0 {
				pending = append(pending, types.PropertyFilterUpdate{Filter: f.Self, ObjectSet: list})
			}
		}
	}
	if len(pending) == 0 {
		return nil, nil
	}
	now, rest := cut(pending, most)
	pc.m.Lock()
	defer pc.m.Unlock()
	pc.pending = rest
	pc.version++
	set := &types.UpdateSet{Version: strconv.Itoa(pc.version), FilterSet: now}
	if len(rest) > 0 {
		set.Truncated = types.NewBool(true)
	}
	return set, nil
}

// cut splits updates after a number of objects.
func cut(all []types.PropertyFilterUpdate, most int) (now, rest []types.PropertyFilterUpdate) {
	for i, u := range all {
		if len(u.ObjectSet) > most {
			more := u
			u.ObjectSet, more.ObjectSet = u.ObjectSet[:most:most], u.ObjectSet[most:]
			if most > 0 {
				now = append(now, u)
			}
			return now, append([]types.PropertyFilterUpdate{more}, all[i+1:]...)
		}
		most -= len(u.ObjectSet)
		now = append(now, u)
	}
	return now, nil
}

// WaitForUpdates is the older form, which some clients use.
func (pc *Collector) WaitForUpdates(ctx *simulator.Context, r *types.WaitForUpdates) soap.HasFault {
	body := new(methods.WaitForUpdatesBody)
	got := pc.WaitForUpdatesEx(ctx, &types.WaitForUpdatesEx{This: r.This, Version: r.Version}).(*methods.WaitForUpdatesExBody)
	if body.Fault_ = got.Fault_; got.Fault_ == nil {
		body.Res = &types.WaitForUpdatesResponse{Returnval: *got.Res.Returnval}
	}
	return body
}

// CheckForUpdates is the older form without a wait.
func (pc *Collector) CheckForUpdates(ctx *simulator.Context, r *types.CheckForUpdates) soap.HasFault {
	body := new(methods.CheckForUpdatesBody)
	got := pc.WaitForUpdatesEx(ctx, &types.WaitForUpdatesEx{This: r.This, Version: r.Version, Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(0)}}).(*methods.WaitForUpdatesExBody)
	if body.Fault_ = got.Fault_; got.Fault_ == nil {
		body.Res = &types.CheckForUpdatesResponse{Returnval: got.Res.Returnval}
	}
	return body
}

// RetrievePropertiesEx reads properties.
func (pc *Collector) RetrievePropertiesEx(ctx *simulator.Context, r *types.RetrievePropertiesEx) soap.HasFault {
	if ctx.Session == nil {
		return pc.PropertyCollector.RetrievePropertiesEx(ctx, r)
	}
	body := new(methods.RetrievePropertiesExBody)
	list, fault := retrieve(ctx, r.SpecSet)
	if fault != nil {
		body.Fault_ = simulator.Fault("The object has already been deleted or has not been completely created", fault)
		return body
	}
	first, token := paged(hubOf(ctx), page{r.Options.MaxObjects, list})
	body.Res = &types.RetrievePropertiesExResponse{Returnval: &types.RetrieveResult{Token: token, Objects: first}}
	return body
}

// paged is the first page, and the token of the others.
func paged(h *hub, p page) ([]types.ObjectContent, string) {
	if p.most <= 0 || len(p.list) <= int(p.most) {
		return p.list, ""
	}
	return p.list[:p.most], h.keep(page{p.most, p.list[p.most:]})
}

// ContinueRetrievePropertiesEx is the next page.
func (pc *Collector) ContinueRetrievePropertiesEx(ctx *simulator.Context, r *types.ContinueRetrievePropertiesEx) soap.HasFault {
	body := new(methods.ContinueRetrievePropertiesExBody)
	p, ok := hubOf(ctx).take(r.Token)
	if !ok {
		body.Fault_ = simulator.Fault("", &types.InvalidProperty{Name: "token"})
		return body
	}
	next, token := paged(hubOf(ctx), p)
	body.Res = &types.ContinueRetrievePropertiesExResponse{Returnval: types.RetrieveResult{Token: token, Objects: next}}
	return body
}

// CancelRetrievePropertiesEx discards the other pages.
func (pc *Collector) CancelRetrievePropertiesEx(ctx *simulator.Context, r *types.CancelRetrievePropertiesEx) soap.HasFault {
	hubOf(ctx).take(r.Token)
	return &methods.CancelRetrievePropertiesExBody{Res: new(types.CancelRetrievePropertiesExResponse)}
}

// RetrieveProperties is the older form.
func (pc *Collector) RetrieveProperties(ctx *simulator.Context, r *types.RetrieveProperties) soap.HasFault {
	body := new(methods.RetrievePropertiesBody)
	got := pc.RetrievePropertiesEx(ctx, &types.RetrievePropertiesEx{This: r.This, SpecSet: r.SpecSet}).(*methods.RetrievePropertiesExBody)
	if body.Fault_ = got.Fault_; got.Fault_ == nil {
		body.Res = &types.RetrievePropertiesResponse{Returnval: got.Res.Returnval.Objects}
	}
	return body
}
