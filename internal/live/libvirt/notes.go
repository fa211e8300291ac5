package libvirt

import (
	"sync"

	"plimsoll/internal/libvirt"
)

// notes are the last events of each domain on a host.
type notes struct {
	mu      sync.Mutex
	started map[uuid]libvirt.Lifecycle
	stopped map[uuid]libvirt.Lifecycle
	changed map[uuid]bool // its definition, since it was read
}

// mostNotes is the maximum number of domains, including deleted ones.
const mostNotes = 10_000

func (n *notes) take(l libvirt.Lifecycle) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.started == nil || len(n.started)+len(n.stopped) > mostNotes {
		n.started, n.stopped = map[uuid]libvirt.Lifecycle{}, map[uuid]libvirt.Lifecycle{}
	}
	if n.changed == nil {
		n.changed = map[uuid]bool{}
	}
	switch l.Change {
	case libvirt.Started:
		n.started[l.Domain.UUID] = l
		delete(n.stopped, l.Domain.UUID)
	case libvirt.Stopped:
		n.stopped[l.Domain.UUID] = l
	case libvirt.Defined:
		n.changed[l.Domain.UUID] = true
	}
}

// start is how a domain started on the host; empty if unknown.
func (n *notes) start(id uuid) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.started[id].Why()
}

// stop is how a domain ended on the host, and whether it migrated away.
func (n *notes) stop(id uuid) (why string, migrated bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l, is := n.stopped[id]
	return l.Why(), is && l.Migrated()
}

// redefined reports, once, whether the definition of a domain has changed.
func (n *notes) redefined(id uuid) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.changed[id]
	delete(n.changed, id)
	return was
}
