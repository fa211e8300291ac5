package responder

import (
	"hash/maphash"
	"sync"
)

const shards = 64

// store holds values by key. It is split, so that connections seldom wait for
// each other.
type store struct {
	seed  maphash.Seed
	parts [shards]part
	vice  *vice // nil for none
}

type part struct {
	mu      sync.RWMutex
	values  map[string]value
	stamp   uint64 // of the last change
	lastKey string // that was set, with a vice
}

// value is never changed once it is stored.
type value struct {
	data  []byte
	flags uint32
	stamp uint64 // different for each change of the same key
	was   []byte // the data before, with a vice
}

func newStore() *store {
	s := &store{seed: maphash.MakeSeed()}
	for i := range s.parts {
		s.parts[i].values = map[string]value{}
	}
	return s
}

func (s *store) part(key []byte) *part { return &s.parts[maphash.Bytes(s.seed, key)%shards] }

func (s *store) get(key []byte) (value, bool) {
	p := s.part(key)
	p.mu.RLock()
	v, ok := p.values[string(key)]
	p.mu.RUnlock()
	if s.vice != nil && ok {
		return s.vice.read(p, key, v)
	}
	return v, ok
}

// set keeps data, which the caller must not change any more.
func (s *store) set(key, data []byte, flags uint32) {
	p := s.part(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stamp++
	v := value{data: data, flags: flags, stamp: p.stamp}
	if s.vice != nil {
		was, there := p.values[string(key)]
		if there && s.vice.draws(s.vice.lose) {
			return
		}
		v.was, p.lastKey = was.data, string(key)
	}
	p.values[string(key)] = v
}

// remove says whether the key was there.
func (s *store) remove(key []byte) bool {
	p := s.part(key)
	p.mu.Lock()
	_, ok := p.values[string(key)]
	delete(p.values, string(key))
	p.mu.Unlock()
	return ok
}

func (s *store) clear() {
	for i := range s.parts {
		p := &s.parts[i]
		p.mu.Lock()
		clear(p.values)
		p.mu.Unlock()
	}
}

// size is the number of keys, and of bytes in their values.
func (s *store) size() (keys int, size int64) {
	for i := range s.parts {
		p := &s.parts[i]
		p.mu.RLock()
		keys += len(p.values)
		for _, v := range p.values {
			size += int64(len(v.data))
		}
		p.mu.RUnlock()
	}
	return keys, size
}
