// Package shadow adds methods to the objects of the simulator, or replaces them.
//
// The simulator asserts the types of its objects in many places, so an object cannot be exchanged
// for one of ours. But a call looks first in the registry of its session. There it finds a shadow:
// an object of our type that embeds the original and has more methods.
package shadow

import (
	"sync"
	"weak"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Wrap makes the shadow of an object: a pointer to a struct whose first field embeds the object. It
// returns nil for objects that it adds nothing to. Where several rooms wrap the same object,
// each gets what the one before returned.
//
// Embed Managed in the shadow of a managed entity.
type Wrap func(of mo.Reference) mo.Reference

// Check looks at a call before it is dispatched; a fault refuses it.
type Check func(ctx *simulator.Context, call *simulator.Method) types.BaseMethodFault

// Handler is the advice before every call.
type Handler struct {
	wraps  []Wrap
	checks []Check

	m        sync.RWMutex
	shadows  map[types.ManagedObjectReference]made // one for each object, in all sessions
	sessions map[weak.Pointer[simulator.Registry]]bool
}

// made is a shadow and what it was made for. An object that was replaced needs another.
type made struct{ of, shadow mo.Reference }

// NewHandler returns the advice of some rooms, in their order.
func NewHandler(wraps []Wrap, checks []Check) *Handler {
	return &Handler{wraps: wraps, checks: checks, shadows: map[types.ManagedObjectReference]made{}, sessions: map[weak.Pointer[simulator.Registry]]bool{}}
}

// Before puts the shadow of a call's object into the session, and checks the call.
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

// know keeps the registry of a session, as long as the session lives.
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

// Reference names the handler among those that are told of changes.
func (*Handler) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Handler", Value: "shadows"}
}

// PutObject does nothing: shadows are made at the first call.
func (*Handler) PutObject(*simulator.Context, mo.Reference) {}

// UpdateObject does nothing: a shadow has the object itself.
func (*Handler) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject takes the shadow of an entity that is gone out of all sessions. Of other objects it does nothing: the
// end of a session removes its own while it locks its registry.
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

// Managed is embedded in the shadows of managed entities. The registry of a session writes the status
// of what is put into it: to what this returns, and not to the original.
type Managed struct{}

// Entity is what the registry writes to.
func (Managed) Entity() *mo.ManagedEntity { return new(mo.ManagedEntity) }

// Unlocked is embedded in shadows whose methods lock the objects that they read and change
// themselves, and no longer than they do so.
type Unlocked struct{}

// Lock does nothing.
func (Unlocked) Lock() {}

// Unlock does nothing.
func (Unlocked) Unlock() {}
