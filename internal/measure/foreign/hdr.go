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

// Encodings of HdrHistogram by their cookies (class AbstractHistogram), without the bits that
// hold the size of a counter.
const (
	hdrV1, hdrCompressedV1 = 0x1c849301, 0x1c849302 // counters of 2, 4 or 8 bytes
	hdrV2, hdrCompressedV2 = 0x1c849303, 0x1c849304 // zigzag LEB128
	hdrWord                = 0xf0
	mostHDR                = 8 << 20 // bytes of a histogram after decompression
)

type hdrHeader struct {
	Cookie                 uint32
	Length, Offset, Digits int32
	Lowest, Highest        int64
	Ratio                  float64
}

// Histogram decodes a histogram of HdrHistogram, V1 or V2 in base64, whose values are multiples
// of unit. A value stands for the middle of its bucket.
func Histogram(text string, unit time.Duration) (*measure.Histogram, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("histogram: %w", err)
	}
	if len(data) < 8 {
		return nil, errors.New("histogram: it is truncated, or not of the encodings V1 and V2")
	}
	if cookie := binary.BigEndian.Uint32(data) &^ hdrWord; cookie != hdrCompressedV1 && cookie != hdrCompressedV2 {
		return nil, errors.New("histogram: only the encodings V1 and V2 of HdrHistogram, compressed, can be read")
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
	if head.counter() == nil || head.Digits < 1 || head.Digits > 5 || head.Lowest < 1 || !head.plain() {
		return nil, errors.New("histogram: unknown encoding")
	}
	return head.decode(plain[n:], unit)
}

// plain reports whether values are integers that are not shifted. HdrHistogramJS says so by the
// integer 1 in place of both the offset and the ratio.
func (head hdrHeader) plain() bool {
	return head.Offset == 0 && head.Ratio == 1 || head.Offset == 1 && math.Float64bits(head.Ratio) == 1
}

// counter is the function that reads a counter and its size, which is 0 or less for an invalid
// one. It is nil for an encoding that is not known.
func (head hdrHeader) counter() func(payload []byte) (int64, int) {
	size := int(head.Cookie & hdrWord >> 4)
	switch cookie := head.Cookie &^ hdrWord; {
	case cookie == hdrV2:
		return binary.Varint
	case cookie == hdrV1 && (size == 2 || size == 4 || size == 8):
		return func(payload []byte) (v int64, n int) {
			if len(payload) < size || payload[0] > math.MaxInt8 {
				return 0, 0
			}
			for _, b := range payload[:size] {
				v = v<<8 | int64(b)
			}
			return v, size
		}
	}
	return nil
}

// decode reads the counters. In V2 a negative number is a run of zeros.
func (head hdrHeader) decode(payload []byte, unit time.Duration) (*measure.Histogram, error) {
	h := measure.NewHistogram()
	index := int64(0)
	for len(payload) > 0 {
		v, n := head.counter()(payload)
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
