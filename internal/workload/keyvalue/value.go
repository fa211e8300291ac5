package keyvalue

import (
	"bytes"
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
		return nil, errors.New("value: give a size")
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

// The text of a key: a name of our own, so that nobody else's are touched, and ten
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

// dataset is what lies in the store: for each key a value that follows from the key
// and the seed alone, so that whoever reads it can tell whether it is the right one.
// A value begins with its key, of which a short one is the end; the rest is noise. It
// is never written once it is made.
type dataset struct {
	bands []band
	noise []byte
}

// noiseLength is a power of two. The noise is short, so that it stays in the caches of
// the CPU.
const noiseLength = 1 << 15

func newDataset(bands []band, seed uint64) *dataset {
	d := &dataset{bands: bands, noise: make([]byte, noiseLength)}
	source := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24), byte(seed >> 32), byte(seed >> 40), byte(seed >> 48), byte(seed >> 56)})
	_, _ = source.Read(d.noise) // it never fails
	return d
}

// size is that of the value of a key.
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

// start is where the noise of a key's value begins.
func start(key int64) int { return int(key) * 64 & (noiseLength - 1) }

// add appends the value of a key, whose text is given.
func (d *dataset) add(buffer []byte, key int64, text []byte) []byte {
	size := d.size(key)
	if size <= keyLength {
		return append(buffer, text[keyLength-size:]...)
	}
	buffer = append(buffer, text...)
	for at, left := start(key), size-keyLength; left > 0; at = 0 {
		piece := d.noise[at:min(noiseLength, at+left)]
		buffer = append(buffer, piece...)
		left -= len(piece)
	}
	return buffer
}

// holds says whether a piece of a key's value, from the byte at, is as it was
// written.
func (d *dataset) holds(key int64, text []byte, at int, piece []byte) bool {
	size := d.size(key)
	if at+len(piece) > size {
		return false
	}
	if head := text[max(0, keyLength-size):]; at < len(head) {
		n := min(len(piece), len(head)-at)
		if !bytes.Equal(piece[:n], head[at:at+n]) {
			return false
		}
		piece, at = piece[n:], at+n
	}
	for from := (start(key) + at - keyLength) & (noiseLength - 1); len(piece) > 0; from = 0 {
		n := min(len(piece), noiseLength-from)
		if !bytes.Equal(piece[:n], d.noise[from:from+n]) {
			return false
		}
		piece = piece[n:]
	}
	return true
}
