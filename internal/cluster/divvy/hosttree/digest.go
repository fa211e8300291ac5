package hosttree

import (
	"crypto/sha256"
	"encoding/binary"
)

// digest identifies the content of a pool and all below it, so that Diff skips equal parts of
// two trees. Different parts have equal digests with a probability of about 2 to the power of
// -128.
type digest struct{ high, low uint64 }

// digest computes the digests of all pools. A pool's contents enter as a sum of digests, so
// their order has no influence.
func (t *Tree) digest() {
	t.sums = make([]digest, len(t.pools))
	row := make([]byte, 0, 256)
	for i := range t.vms {
		v := &t.vms[i]
		row = appendGrants(appendNumbers(row[:0], 'v', int64(v.VM)), v.CPU, v.Mem)
		t.sums[t.in[i]].add(digestOf(row))
	}
	for i := len(t.order) - 1; i >= 0; i-- {
		at := t.order[i]
		p, sum := &t.pools[at], &t.sums[at]
		row = appendGrants(appendNumbers(row[:0], 'p', int64(p.ID), int64(p.Parent), int64(sum.high), int64(sum.low)), p.CPU, p.Mem)
		row = append(row, p.Name...)
		if *sum = digestOf(row); t.up[at] >= 0 {
			t.sums[t.up[at]].add(*sum)
		}
	}
}

func (d *digest) add(o digest) { d.high, d.low = d.high+o.high, d.low+o.low }

func digestOf(row []byte) digest {
	s := sha256.Sum256(row)
	return digest{binary.LittleEndian.Uint64(s[:]), binary.LittleEndian.Uint64(s[8:])}
}

func appendNumbers(row []byte, list ...int64) []byte {
	for _, n := range list {
		row = binary.LittleEndian.AppendUint64(row, uint64(n))
	}
	return row
}

func appendGrants(row []byte, a, b Grant) []byte {
	return appendNumbers(row, a.Reservation, a.Limit, a.Shares, b.Reservation, b.Limit, b.Shares)
}
