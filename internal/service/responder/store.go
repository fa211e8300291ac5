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
}

type part struct {
	mu     sync.RWMutex
	values map[string]value
	stamp  uint64 // of the last change
}

// value is never changed once it is stored.
type value struct {
	data  []byte
	flags uint32
	stamp uint64 // different for each change of the same key
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
	return v, ok
}

// set keeps data, which the caller must not change any more.
func (s *store) set(key, data []byte, flags uint32) {
	p := s.part(key)
	p.mu.Lock()
	p.stamp++
	p.values[string(key)] = value{data, flags, p.stamp}
	p.mu.Unlock()
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
