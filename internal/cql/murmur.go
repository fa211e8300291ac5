package cql

import (
	"encoding/binary"
	"math"
	"math/bits"
)

const (
	c1 = 0x87c37b91114253d5
	c2 = 0x4cf5ad432745937f
)

// Token is the token of a partition key for Cassandra's Murmur3Partitioner: the first half of
// MurmurHash3 x64 128 with seed 0, except that bytes after the last complete block are
// sign-extended, as in Java, and that the minimum is not used.
func Token(key []byte) int64 {
	if t := murmur(key, true); t != math.MinInt64 {
		return t
	}
	return math.MaxInt64
}

// Murmur3F is the first half of MurmurHash3 x64 128 with seed 0.
func Murmur3F(data []byte) int64 { return murmur(data, false) }

func murmur(data []byte, signed bool) int64 {
	var h1, h2 uint64
	length := uint64(len(data))
	for ; len(data) >= 16; data = data[16:] {
		k1, k2 := binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])
		h1 ^= mix1(k1)
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= mix2(k2)
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}
	var k1, k2 uint64
	for i, c := range data {
		v := uint64(c)
		if signed {
			v = uint64(int64(int8(c)))
		}
		if i < 8 {
			k1 ^= v << (8 * i)
		} else {
			k2 ^= v << (8 * (i - 8))
		}
	}
	if len(data) > 8 {
		h2 ^= mix2(k2)
	}
	if len(data) > 0 {
		h1 ^= mix1(k1)
	}
	h1 ^= length
	h2 ^= length
	h1 += h2
	h2 += h1
	h1, h2 = final(h1), final(h2)
	return int64(h1 + h2)
}

func mix1(k uint64) uint64 { return bits.RotateLeft64(k*c1, 31) * c2 }
func mix2(k uint64) uint64 { return bits.RotateLeft64(k*c2, 33) * c1 }

func final(k uint64) uint64 {
	k ^= k >> 33
	k *= 0xff51afd7ed558ccd
	k ^= k >> 33
	k *= 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}

// AppendKey appends a component of a composite partition key, in the encoding for its token.
func AppendKey[T string | []byte](b []byte, v T) []byte {
	return append(appendShort(b, v), 0)
}
