package libvirt

import (
	"context"
	"fmt"
)

// Lifecycle is an event of the life of a domain.
type Lifecycle struct {
	Domain Domain
	Change Change
	Detail int // of the change, as libvirt numbers them
}

// Change is what happened to a domain.
type Change int

// Changes, as libvirt numbers them.
const (
	Defined   Change = 0
	Undefined Change = 1
	Started   Change = 2
	Suspended Change = 3
	Resumed   Change = 4
	Stopped   Change = 5
	Shutdown  Change = 6
	Sleeping  Change = 7
	Crash     Change = 8
)

// Why is the reason of a stop or a start, in words.
func (l Lifecycle) Why() string {
	var words []string
	switch l.Change {
	case Stopped:
		words = []string{"shut down", "destroyed", "crashed", "migrated", "saved", "failed", "stopped by a snapshot"}
	case Started:
		words = []string{"booted", "migrated", "restored", "started from a snapshot", "woken up"}
	}
	if l.Detail < 0 || l.Detail >= len(words) {
		return ""
	}
	return words[l.Detail]
}

// Migrated is true for the end of a domain on the source of its migration.
func (l Lifecycle) Migrated() bool { return l.Change == Stopped && l.Detail == 3 }

// Listen registers for lifecycle events of all domains. The function is called as events
// arrive, and must return at once: it may not call the connection.
func (h Host) Listen(ctx context.Context, heard func(Lifecycle)) error {
	h.Conn.mu.Lock()
	h.Conn.heard = heard
	h.Conn.mu.Unlock()
	e := encoder{}
	e.int32(0)  // lifecycle
	e.uint32(0) // of any domain
	if _, err := h.Conn.call(ctx, procRegisterAny, e.b); err != nil {
		return fmt.Errorf("register for events: %w", err)
	}
	return nil
}

// hear decodes an event and hands it on.
func hear(c *Conn, body []byte) error {
	l, err := decodeLifecycle(body)
	if err != nil {
		return fmt.Errorf("event: %w", err)
	}
	c.mu.Lock()
	heard := c.heard
	c.mu.Unlock()
	if heard != nil {
		heard(l)
	}
	return nil
}

func decodeLifecycle(body []byte) (l Lifecycle, err error) {
	d := decoder{b: body}
	d.int32() // number of the callback
	l.Domain, l.Change, l.Detail = d.domain(), Change(d.int32()), int(d.int32())
	return l, d.end()
}
