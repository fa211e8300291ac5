package measure

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
)

// The encoding of HdrHistogram 2.x (class AbstractHistogram): a header, and the counters up to
// the last that is not 0 as zigzag LEB128, where a negative number is a run of zeros;
// compressed by zlib behind a header of its own; in base64.
const (
	cookie           = 0x1c849303 | 0x10
	cookieCompressed = 0x1c849304 | 0x10
	mostPayload      = counters * binary.MaxVarintLen64
)

type header struct {
	Cookie, Length, Offset, Digits int32
	Lowest, Highest                int64
	Ratio                          float64
}

// compressors are reused: a new one costs more than a hundred small histograms.
var compressors = sync.Pool{New: func() any {
	w, err := zlib.NewWriterLevel(nil, zlib.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant of the package
	}
	return w
}}

// MarshalText encodes the histogram as HdrHistogram V2, compressed, in base64.
func (h *Histogram) MarshalText() ([]byte, error) { return bytes.Clone(h.compact().encode()), nil }

// nothing is the encoding of a histogram without values. Many intervals have no operation of a class.
var nothing = sync.OnceValue(func() []byte { return compact{}.compress() })

func (c compact) encode() []byte {
	if len(c.count) == 0 {
		return nothing()
	}
	return c.compress()
}

func (c compact) compress() []byte {
	var payload []byte
	next := 0
	for i, n := range c.count {
		index := int(c.index[i])
		switch zeros := index - next; {
		case zeros == 1:
			payload = binary.AppendVarint(payload, 0)
		case zeros > 1:
			payload = binary.AppendVarint(payload, int64(-zeros))
		}
		payload = binary.AppendVarint(payload, n)
		next = index + 1
	}
	head := header{cookie, int32(len(payload)), 0, digits, lowest, highest, 1}
	plain, err := binary.Append(nil, binary.BigEndian, head)
	if err != nil {
		panic(err) // a header has a fixed size
	}
	var packed bytes.Buffer
	packed.Write(make([]byte, 8))
	w := compressors.Get().(*zlib.Writer)
	defer compressors.Put(w)
	w.Reset(&packed)
	_, err = w.Write(append(plain, payload...))
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err) // writing to memory does not fail
	}
	out := packed.Bytes()
	binary.BigEndian.PutUint32(out, cookieCompressed)
	binary.BigEndian.PutUint32(out[4:], uint32(len(out)-8))
	return base64.StdEncoding.AppendEncode(nil, out)
}

// UnmarshalText decodes the output of MarshalText. Histograms with other bounds or precision
// are an error.
func (h *Histogram) UnmarshalText(text []byte) error {
	if bytes.Equal(text, nothing()) {
		*h = Histogram{}
		return nil
	}
	data, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	if len(data) < 8 || binary.BigEndian.Uint32(data) != cookieCompressed {
		return errors.New("decode histogram: wrong header")
	}
	r, err := zlib.NewReader(bytes.NewReader(data[8:]))
	if err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, mostPayload+64))
	if err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	var head header
	size := binary.Size(head)
	if _, err := binary.Decode(plain, binary.BigEndian, &head); err != nil {
		return fmt.Errorf("decode histogram: %w", err)
	}
	want := header{cookie, head.Length, 0, digits, lowest, highest, 1}
	if head != want || int(head.Length) != len(plain)-size {
		return errors.New("decode histogram: wrong bounds or precision")
	}
	*h = Histogram{}
	return h.fill(plain[size:])
}

func (h *Histogram) fill(payload []byte) error {
	index := int64(0)
	for len(payload) > 0 {
		v, n := binary.Varint(payload)
		if n <= 0 || v < -counters {
			return errors.New("decode histogram: invalid counter")
		}
		payload = payload[n:]
		if v < 0 {
			index -= v
			continue
		}
		if index >= counters || v > math.MaxInt64-h.total {
			return errors.New("decode histogram: its counters exceed its bounds")
		}
		if v > 0 {
			h.add(int(index), v)
		}
		index++
	}
	return nil
}
