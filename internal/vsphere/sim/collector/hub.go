package collector

import (
	"strconv"
	"sync"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// hub listens to the registry on behalf of all filters. A change costs only the filters of the
// object.
type hub struct {
	mo.PropertyCollector // the simulator expects every object to wrap a managed one

	m       sync.Mutex
	about   map[types.ManagedObjectReference]map[*filter]bool
	watches map[*filter]map[types.ManagedObjectReference]bool
	byName  map[types.ManagedObjectReference]*filter
	waiting map[*Collector]bool
	pages   map[string]page
	closed  bool
	named   uint64 // objects of sessions
}

// name names an object of the session of a call, as the simulator does.
func (h *hub) name(ctx *simulator.Context, kind string) types.ManagedObjectReference {
	h.m.Lock()
	defer h.m.Unlock()
	h.named++
	return types.ManagedObjectReference{Type: kind, Value: "session[" + ctx.Session.Key + "]" + strconv.FormatUint(h.named, 36)}
}

// page is the rest of a reply.
type page struct {
	most int32
	list []types.ObjectContent
}

var hubName = types.ManagedObjectReference{Type: "Listener", Value: "plimsoll-collectors"}

// hubOf is the hub of a simulator.
func hubOf(ctx *simulator.Context) *hub { return ctx.Map.Get(hubName).(*hub) }

// Reference is the reference of the hub.
func (*hub) Reference() types.ManagedObjectReference { return hubName }

// PutObject does nothing: filters find objects by traversal.
func (*hub) PutObject(*simulator.Context, mo.Reference) {}

// UpdateObject passes a change to the filters.
func (h *hub) UpdateObject(_ *simulator.Context, of mo.Reference, changes []types.PropertyChange) {
	ref := of.Reference()
	h.m.Lock()
	defer h.m.Unlock()
	for f := range h.about[ref] {
		f.note(ref, changes)
	}
}

// RemoveObject passes the removal of an object to the filters. A filter itself is removed with
// its session.
func (h *hub) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	h.m.Lock()
	defer h.m.Unlock()
	for f := range h.about[ref] {
		f.left(ref)
		delete(h.watches[f], ref)
	}
	delete(h.about, ref)
	if f := h.byName[ref]; f != nil {
		h.remove(f)
	}
}

// watch subscribes a filter to changes of objects.
func (h *hub) watch(f *filter, refs ...types.ManagedObjectReference) {
	h.m.Lock()
	defer h.m.Unlock()
	has := h.watches[f]
	if has == nil {
		return // it was destroyed
	}
	for _, ref := range refs {
		if !has[ref] {
			has[ref] = true
			if h.about[ref] == nil {
				h.about[ref] = map[*filter]bool{}
			}
			h.about[ref][f] = true
		}
	}
}

func (h *hub) add(f *filter) {
	h.m.Lock()
	defer h.m.Unlock()
	h.watches[f], h.byName[f.Self] = map[types.ManagedObjectReference]bool{}, f
}

func (h *hub) drop(f *filter) {
	h.m.Lock()
	defer h.m.Unlock()
	h.remove(f)
}

func (h *hub) remove(f *filter) {
	for ref := range h.watches[f] {
		delete(h.about[ref], f)
		if len(h.about[ref]) == 0 {
			delete(h.about, ref)
		}
	}
	delete(h.watches, f)
	delete(h.byName, f.Self)
}

// wait records that a collector waits; it is not ok once the simulator closes.
func (h *hub) wait(pc *Collector, is bool) (ok bool) {
	h.m.Lock()
	defer h.m.Unlock()
	if is && h.closed {
		return false
	}
	if is {
		h.waiting[pc] = true
	} else {
		delete(h.waiting, pc)
	}
	return true
}

// close ends all waits.
func (h *hub) close() {
	h.m.Lock()
	h.closed = true
	var all []*Collector
	for pc := range h.waiting {
		all = append(all, pc)
	}
	h.m.Unlock()
	for _, pc := range all {
		pc.Stop()
	}
}

// mostPages is the maximum number of unfinished replies.
const mostPages = 1000

// keep stores the rest of a reply, and returns its token.
func (h *hub) keep(p page) string {
	h.m.Lock()
	defer h.m.Unlock()
	if len(h.pages) >= mostPages {
		clear(h.pages) // of clients that never continued
	}
	token := uuid.NewString()
	h.pages[token] = p
	return token
}

func (h *hub) take(token string) (page, bool) {
	h.m.Lock()
	defer h.m.Unlock()
	p, ok := h.pages[token]
	delete(h.pages, token)
	return p, ok
}
