package responder

import (
	"hash/maphash"
	"sync"
)

const shards = 64

// store holds values by key. It is sharded to reduce contention of connections.
type store struct {
	seed  maphash.Seed
	parts [shards]part
	vice  *corruption // nil for none
}

type part struct {
	mu      sync.RWMutex
	values  map[string]value
	stamp   uint64 // of the last change
	lastKey string // last written, with a vice
}

// value is never changed once it is stored.
type value struct {
	data  []byte
	flags uint32
	stamp uint64 // differs for each change of a key
	was   []byte // the former data, with a vice
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

// set keeps data; the caller must not change it afterwards.
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

// remove reports whether the key existed.
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

// size is the number of keys and the bytes of their values.
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
