package foreign

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"time"

	"plimsoll/internal/measure"
)

// Encodings of HdrHistogram (class AbstractHistogram, EncodingCompressed V2).
const (
	hdrPlain      = 0x1c849303 | 0x10
	hdrCompressed = 0x1c849304 | 0x10
	mostHDR       = 8 << 20 // bytes of a histogram after decompression
)

type hdrHeader struct {
	Cookie, Length, Offset, Digits int32
	Lowest, Highest                int64
	Ratio                          float64
}

// Histogram decodes a histogram of HdrHistogram, V2 in base64, whose values are multiples of
// unit. A value stands for the middle of its bucket.
func Histogram(text string, unit time.Duration) (*measure.Histogram, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("histogram: %w", err)
	}
	if len(data) < 8 || binary.BigEndian.Uint32(data) != hdrCompressed {
		return nil, errors.New("histogram: only the encoding V2 of HdrHistogram, compressed, can be read")
	}
	z, err := zlib.NewReader(bytes.NewReader(data[8:]))
	if err != nil {
		return nil, fmt.Errorf("histogram: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(z, mostHDR))
	if err != nil {
		return nil, fmt.Errorf("histogram: %w", err)
	}
	var head hdrHeader
	n, err := binary.Decode(plain, binary.BigEndian, &head)
	if err != nil {
		return nil, errors.New("histogram: truncated header")
	}
	if head.Cookie != hdrPlain || head.Digits < 1 || head.Digits > 5 || head.Lowest < 1 || head.Ratio != 1 || head.Offset != 0 {
		return nil, errors.New("histogram: unknown encoding")
	}
	return head.decode(plain[n:], unit)
}

// decode reads the counters: zigzag LEB128, where a negative number is a run of zeros.
func (head hdrHeader) decode(payload []byte, unit time.Duration) (*measure.Histogram, error) {
	h := measure.NewHistogram()
	index := int64(0)
	for len(payload) > 0 {
		v, n := binary.Varint(payload)
		if n <= 0 || v < -math.MaxInt32 {
			return nil, errors.New("histogram: invalid counter")
		}
		payload = payload[n:]
		if v < 0 {
			index -= v
			continue
		}
		if v > 0 {
			value, ok := head.value(index)
			if !ok || value > math.MaxInt64/float64(unit) || v > math.MaxInt64-h.Count() {
				return nil, errors.New("histogram: its counters exceed its bounds")
			}
			h.Record(time.Duration(value*float64(unit)), v)
		}
		index++
	}
	return h, nil
}

// value is the middle of a bucket.
func (head hdrHeader) value(index int64) (float64, bool) {
	unit := bits.Len64(uint64(head.Lowest)) - 1
	resolution := 2.
	for range head.Digits {
		resolution *= 10
	}
	half := max(bits.Len64(uint64(resolution)-1), 1) - 1 // log2 of half the number of sub-buckets
	bucket, sub := index>>half-1, index&(1<<half-1)+1<<half
	if bucket < 0 {
		bucket, sub = 0, sub-1<<half
	}
	if bucket+int64(unit) > 62 {
		return 0, false
	}
	width := math.Ldexp(1, int(bucket)+unit)
	if width == 1 {
		return float64(sub), true
	}
	return float64(sub)*width + width/2, true
}
