// Package shadow adds methods to the objects of the simulator, or replaces them.
//
// The simulator asserts the types of its objects in many places, so objects cannot be
// replaced. But a call looks up its object in the registry of its session first. There it
// finds a shadow: an object of our type that embeds the original and has more methods.
package shadow

import (
	"sync"
	"weak"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Wrap makes the shadow of an object: a pointer to a struct whose first field embeds the
// object. It returns nil for objects without one. If several rooms wrap the same object, each
// gets the result of the previous one.
//
// Embed Managed in the shadow of a managed entity.
type Wrap func(of mo.Reference) mo.Reference

// Check validates a call before it is dispatched; a fault refuses it.
type Check func(ctx *simulator.Context, call *simulator.Method) types.BaseMethodFault

// Handler is called before every call.
type Handler struct {
	wraps  []Wrap
	checks []Check

	m        sync.RWMutex
	shadows  map[types.ManagedObjectReference]made // one per object, for all sessions
	sessions map[weak.Pointer[simulator.Registry]]bool
}

// made is a shadow and its object. An object that was replaced needs another shadow.
type made struct{ of, shadow mo.Reference }

// NewHandler is the handler of some rooms, in order.
func NewHandler(wraps []Wrap, checks []Check) *Handler {
	return &Handler{wraps: wraps, checks: checks, shadows: map[types.ManagedObjectReference]made{}, sessions: map[weak.Pointer[simulator.Registry]]bool{}}
}

// Before adds the shadow of a call's object to the session, and validates the call.
func (h *Handler) Before(ctx *simulator.Context, call *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	call.This = Actual(ctx.Map, call.This)
	if ctx.Session != nil {
		h.cast(ctx, call.This)
	}
	for _, check := range h.checks {
		if fault := check(ctx, call); fault != nil {
			return nil, fault
		}
	}
	return nil, nil
}

func (h *Handler) cast(ctx *simulator.Context, ref types.ManagedObjectReference) {
	of := ctx.Map.Get(ref)
	have := ctx.Session.Registry.Get(ref)
	if of == nil {
		if _, stale := have.(mo.Entity); stale {
			ctx.Session.Registry.Remove(ctx, ref)
			h.forget(ref)
		}
		return
	}
	want := h.of(ref, of)
	if want != nil && want != have {
		h.know(ctx.Session.Registry)
		ctx.Session.Registry.Put(want)
	}
}

// know stores the registry of a session, until the session ends.
func (h *Handler) know(of *simulator.Registry) {
	w := weak.Make(of)
	h.m.RLock()
	known := h.sessions[w]
	h.m.RUnlock()
	if !known {
		h.m.Lock()
		h.sessions[w] = true
		h.m.Unlock()
	}
}

// of is the shadow of an object, or nil.
func (h *Handler) of(ref types.ManagedObjectReference, of mo.Reference) mo.Reference {
	h.m.RLock()
	m, ok := h.shadows[ref]
	h.m.RUnlock()
	if ok && m.of == of {
		return m.shadow
	}
	var shadow mo.Reference
	for _, wrap := range h.wraps {
		inner := of
		if shadow != nil {
			inner = shadow
		}
		if outer := wrap(inner); outer != nil {
			shadow = outer
		}
	}
	if shadow == nil {
		return nil
	}
	h.m.Lock()
	defer h.m.Unlock()
	if m, ok := h.shadows[ref]; ok && m.of == of {
		return m.shadow
	}
	h.shadows[ref] = made{of, shadow}
	return shadow
}

func (h *Handler) forget(ref types.ManagedObjectReference) {
	h.m.Lock()
	defer h.m.Unlock()
	delete(h.shadows, ref)
}

// Reference is the reference of the handler.
func (*Handler) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Handler", Value: "shadows"}
}

// PutObject does nothing: shadows are made at the first call.
func (*Handler) PutObject(*simulator.Context, mo.Reference) {}

// UpdateObject does nothing: a shadow contains the object itself.
func (*Handler) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject removes the shadow of a removed entity from all sessions. It ignores other
// objects: the end of a session removes its own while it locks its registry.
func (h *Handler) RemoveObject(ctx *simulator.Context, ref types.ManagedObjectReference) {
	h.m.Lock()
	if _, entity := h.shadows[ref].of.(mo.Entity); !entity {
		h.m.Unlock()
		return
	}
	delete(h.shadows, ref)
	var alive []*simulator.Registry
	for w := range h.sessions {
		if r := w.Value(); r != nil {
			alive = append(alive, r)
		} else {
			delete(h.sessions, w)
		}
	}
	h.m.Unlock()
	for _, r := range alive {
		if r.Get(ref) != nil {
			r.Remove(ctx, ref)
		}
	}
}

// Managed is embedded in the shadows of managed entities. The registry of a session writes the
// status of added entities: to this result, not to the original.
type Managed struct{}

// Entity is the target of the registry's writes.
func (Managed) Entity() *mo.ManagedEntity { return new(mo.ManagedEntity) }

// Unlocked is embedded in shadows whose methods lock the objects that they access themselves,
// for short times.
type Unlocked struct{}

// Lock does nothing.
func (Unlocked) Lock() {}

// Unlock does nothing.
func (Unlocked) Unlock() {}
