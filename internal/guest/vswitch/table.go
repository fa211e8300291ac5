package vswitch

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
)

// address is a MAC address in the low 48 bits.
type address uint64

// addressAt parses the address at the start of b.
func addressAt(b []byte) address {
	return address(binary.BigEndian.Uint16(b))<<32 | address(binary.BigEndian.Uint32(b[2:]))
}

// group reports a broadcast or multicast address.
func (a address) group() bool { return a>>40&1 == 1 }

// entry is the port of an address, and when it was last seen.
type entry struct {
	port atomic.Pointer[Port]
	seen atomic.Int64 // time.Duration since the switch began
}

// table maps addresses to ports. It is bounded: while it is full of active addresses, it
// learns no more, so that a guest with forged addresses evicts no others.
type table struct {
	limit  int
	ageing time.Duration

	mu    sync.RWMutex
	at    map[address]*entry
	swept time.Duration // time of the last search for old entries in a full table
}

// fresh is the age at which an entry is refreshed, to limit writes to shared data.
const fresh = 100 * time.Millisecond

func newTable(limit int, ageing time.Duration) *table {
	return &table{limit: limit, ageing: ageing, at: map[address]*entry{}, swept: -time.Second}
}

// find is the port of an address; nil if it is unknown.
func (t *table) find(a address, now time.Duration) *Port {
	t.mu.RLock()
	e := t.at[a]
	t.mu.RUnlock()
	if e == nil || now-time.Duration(e.seen.Load()) > t.ageing {
		return nil
	}
	return e.port.Load()
}

// learn records the port of an address. It is false if the table is full.
func (t *table) learn(a address, from *Port, now time.Duration) bool {
	t.mu.RLock()
	e := t.at[a]
	if e != nil && e.port.Load() == from {
		if now-time.Duration(e.seen.Load()) > min(fresh, t.ageing/8) {
			e.seen.Store(int64(now))
		}
		t.mu.RUnlock()
		return true
	}
	t.mu.RUnlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if from.left.Load() {
		return true // its entries are being removed, and none may be added
	}
	if e = t.at[a]; e == nil {
		if len(t.at) >= t.limit && !t.sweep(now) {
			return false
		}
		e = &entry{}
		t.at[a] = e
	}
	e.port.Store(from)
	e.seen.Store(int64(now))
	return true
}

// sweep removes old entries, at most once per second. It returns true if there is space then.
func (t *table) sweep(now time.Duration) bool {
	if now-t.swept < time.Second {
		return false
	}
	t.swept = now
	for a, e := range t.at {
		if now-time.Duration(e.seen.Load()) > t.ageing {
			delete(t.at, a)
		}
	}
	return len(t.at) < t.limit
}

// forget removes all addresses of a port.
func (t *table) forget(p *Port) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for a, e := range t.at {
		if e.port.Load() == p {
			delete(t.at, a)
		}
	}
}
