package responder

import (
	"bytes"
	"sync/atomic"
)

// corruption corrupts the data of a store.
type corruption struct {
	lose, swap, tear, forget float64
	drawn                    atomic.Uint64
	faults                   *atomic.Int64 // counts its corruptions
}

// newVice is nil for a correct store.
func newVice(s Settings, c *counts) *corruption {
	if s.Lose+s.Swap+s.Tear+s.Forget == 0 {
		return nil
	}
	return &corruption{lose: float64(s.Lose), swap: float64(s.Swap), tear: float64(s.Tear), forget: float64(s.Forget), faults: &c.faults}
}

// draws is true for a share of the calls, drawn by the finaliser of MurmurHash3 (Appleby).
func (v *corruption) draws(share float64) bool {
	if share == 0 {
		return false
	}
	h := v.drawn.Add(1) * 0x9e3779b97f4a7c15
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	hit := float64(h>>11)/(1<<53) < share
	if hit {
		v.faults.Add(1)
	}
	return hit
}

// read is the result of reading an existing key.
func (v *corruption) read(p *part, key []byte, found value) (value, bool) {
	if v.draws(v.forget) {
		p.mu.Lock()
		delete(p.values, string(key))
		p.mu.Unlock()
		return value{}, false
	}
	if len(found.was) == len(found.data) && v.draws(v.tear) {
		half := len(found.data) / 2
		found.data = append(bytes.Clone(found.data[:half]), found.was[half:]...)
	}
	if v.draws(v.swap) {
		p.mu.RLock()
		if other, there := p.values[p.lastKey]; there && p.lastKey != string(key) {
			found = other
		}
		p.mu.RUnlock()
	}
	return found, true
}
