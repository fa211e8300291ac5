package keyvalue

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"plimsoll/internal/parameter"
)

// band is a size of values and the keys that have it.
type band struct {
	size  int
	share float64
	below uint64 // of a hundred, numbers below this and not below that of the band before
}

const (
	largestValue = 64 << 20
	valueForm    = "is not a size such as 256B, nor a mix of at most 16 such as 64B/70:4KiB/30"
)

// parseValue reads one size, or sizes with the shares of the keys that have them, in
// whole percent.
func parseValue(text string) ([]band, error) {
	var bands []band
	total := 0.
	parts := strings.Split(text, ":")
	for _, part := range parts {
		name, share, mixed := strings.Cut(part, "/")
		var size parameter.Bytes
		if err := size.UnmarshalText([]byte(name)); err != nil || mixed != (len(parts) > 1) || len(parts) > 16 {
			return nil, fmt.Errorf("value %q %s", text, valueForm)
		}
		if size < 1 || size > largestValue {
			return nil, fmt.Errorf("value %q: %s is not between 1B and %s", text, size, parameter.Bytes(largestValue))
		}
		percent := 100.
		if mixed {
			var err error
			if percent, err = strconv.ParseFloat(share, 64); err != nil || !(percent > 0 && percent <= 100) || percent != math.Trunc(percent) {
				return nil, fmt.Errorf("value %q: the share %q is not a whole percentage from 1 to 100", text, share)
			}
		}
		total += percent
		bands = append(bands, band{size: int(size), share: percent / 100, below: uint64(total)})
	}
	if total != 100 {
		return nil, fmt.Errorf("value %q: the shares add up to %g %%, not to 100 %%", text, total)
	}
	if len(bands) == 0 {
		return nil, errors.New("value: a size is required")
	}
	return bands, nil
}

// meanSize is the mean size of a value over all keys.
func meanSize(bands []band) float64 {
	sum := 0.
	for _, b := range bands {
		sum += b.share * float64(b.size)
	}
	return sum
}

// The text of a key: a prefix of our own, so that other keys are never touched, and ten
// digits.
const (
	keyPrefix = "plimsoll:"
	digits    = 10
	keyLength = len(keyPrefix) + digits
)

type keyText [keyLength]byte

// text writes the name of a key.
func (k *keyText) text(key int64) []byte {
	copy(k[:], keyPrefix)
	n := uint64(key)
	for i := keyLength - 1; i >= len(keyPrefix); i-- {
		k[i] = byte('0' + n%10)
		n /= 10
	}
	return k[:]
}

// dataset is what may lie in the store: for each key and write a value that follows from
// them and the seed alone, so that whoever reads it can tell whether it is the right one.
//
// A value begins with its key, of which a short one has the end, and a stamp; the rest is
// noise that depends on both, so that a value of two writes is known. A value too short for
// a stamp is the end of its key alone. It is never written once it is made.
type dataset struct {
	bands []band
	seed  uint64
	noise []byte
}

const (
	stampLength  = 12 // version, writer and a checksum
	leastStamped = 16 // size of a value with a stamp
	headLength   = keyLength + stampLength
)

// noiseLength is a power of two. The noise is short, so that it stays in the caches of
// the CPU.
const noiseLength = 1 << 15

func newDataset(bands []band, seed uint64) *dataset {
	d := &dataset{bands: bands, seed: seed, noise: make([]byte, noiseLength)}
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24), byte(seed >> 32), byte(seed >> 40), byte(seed >> 48), byte(seed >> 56)})
	_, _ = source.Read(d.noise) // it never fails
	return d
}

// size is the size of a key's value.
func (d *dataset) size(key int64) int {
	if len(d.bands) == 1 {
		return d.bands[0].size
	}
	// The finaliser of MurmurHash3 (Appleby).
	h := uint64(key)
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	h = (h ^ h>>33) % 100
	for _, b := range d.bands {
		if h < b.below {
			return b.size
		}
	}
	return d.bands[len(d.bands)-1].size
}

// start is where the noise of a value begins.
func start(key int64, s stamp) int {
	return int(uint32(key)+239*s.version+s.writer) * 64 & (noiseLength - 1)
}

// checksum is of a key and a stamp, by the finaliser of MurmurHash3 (Appleby).
func (d *dataset) checksum(key int64, s stamp) uint32 {
	h := d.seed ^ uint64(key)*0x9e3779b97f4a7c15 ^ (uint64(s.version)<<32 | uint64(s.writer))
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return uint32(h >> 32)
}

// keyPart is the number of bytes of the key in a value of a size.
func keyPart(size int) int {
	if size < leastStamped {
		return size
	}
	return min(keyLength, size-stampLength)
}

// head is how long a value of a size is before its noise.
func head(size int) int {
	if size < leastStamped {
		return size
	}
	return keyPart(size) + stampLength
}

// add appends the value of a key, whose text is given, and a write.
func (d *dataset) add(buffer []byte, key int64, text []byte, s stamp) []byte {
	size := d.size(key)
	buffer = append(buffer, text[keyLength-keyPart(size):]...)
	if size < leastStamped {
		return buffer
	}
	var b [stampLength]byte
	binary.LittleEndian.PutUint64(b[:], uint64(s.writer)<<32|uint64(s.version))
	binary.LittleEndian.PutUint32(b[8:], d.checksum(key, s))
	buffer = append(buffer, b[:]...)
	for at, left := start(key, s), size-head(size); left > 0; at = 0 {
		piece := d.noise[at:min(noiseLength, at+left)]
		buffer = append(buffer, piece...)
		left -= len(piece)
	}
	return buffer
}

// reading is a value that comes in piece by piece.
type reading struct {
	size  int // that it is said to have
	at    int // bytes that have come
	right bool
	stamp stamp
	head  [headLength]byte
}

// take takes the next piece of a key's value.
func (r *reading) take(d *dataset, key int64, text, piece []byte) {
	at := r.at
	r.at += len(piece)
	if !r.right {
		return
	}
	if h := head(r.size); at < h {
		n := copy(r.head[at:h], piece)
		piece, at = piece[n:], at+n
		if at < h {
			return
		}
		if r.right = r.parse(d, key, text); !r.right {
			return
		}
	}
	for from := (start(key, r.stamp) + at - head(r.size)) & (noiseLength - 1); len(piece) > 0; from = 0 {
		n := min(len(piece), noiseLength-from)
		if !bytes.Equal(piece[:n], d.noise[from:from+n]) {
			r.right = false
			return
		}
		piece = piece[n:]
	}
}

// parse reads the head, and reports whether it is of the key and whole.
func (r *reading) parse(d *dataset, key int64, text []byte) bool {
	k := keyPart(r.size)
	if !bytes.Equal(r.head[:k], text[keyLength-k:]) {
		return false
	}
	if r.size < leastStamped {
		return true
	}
	r.stamp = stamp{binary.LittleEndian.Uint32(r.head[k:]), binary.LittleEndian.Uint32(r.head[k+4:])}
	return binary.LittleEndian.Uint32(r.head[k+8:]) == d.checksum(key, r.stamp)
}
