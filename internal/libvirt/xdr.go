package libvirt

import (
	"encoding/binary"
	"fmt"
)

// encoder writes XDR (RFC 4506): big-endian words of four bytes; strings and bytes with a length
// prefix, padded to whole words.
type encoder struct{ b []byte }

func (e *encoder) uint32(v uint32) { e.b = binary.BigEndian.AppendUint32(e.b, v) }

func (e *encoder) int32(v int32) { e.uint32(uint32(v)) }

func (e *encoder) uint64(v uint64) { e.b = binary.BigEndian.AppendUint64(e.b, v) }

func (e *encoder) fixed(p []byte) {
	e.b = append(e.b, p...)
	e.b = append(e.b, make([]byte, padding(len(p)))...)
}

func (e *encoder) bytes(p []byte) {
	e.uint32(uint32(len(p)))
	e.fixed(p)
}

func (e *encoder) string(s string) { e.bytes([]byte(s)) }

// optional writes an optional string, absent if empty.
func (e *encoder) optional(s string) {
	if s == "" {
		e.uint32(0)
		return
	}
	e.uint32(1)
	e.string(s)
}

func padding(n int) int { return (4 - n%4) % 4 }

// decoder reads XDR. The first error is kept; later reads return zero.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("malformed response: "+format, args...)
	}
	d.b = nil
}

func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.b) {
		d.fail("%d bytes where %d are left", n, len(d.b))
		return nil
	}
	p := d.b[:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) uint32() uint32 {
	if p := d.take(4); p != nil {
		return binary.BigEndian.Uint32(p)
	}
	return 0
}

func (d *decoder) int32() int32 { return int32(d.uint32()) }

func (d *decoder) uint64() uint64 {
	if p := d.take(8); p != nil {
		return binary.BigEndian.Uint64(p)
	}
	return 0
}

// count reads the number of elements that follow, of a minimum size each: a number that the
// message cannot hold allocates nothing.
func (d *decoder) count(least int) int {
	n := d.uint32()
	if int64(n)*int64(least) > int64(len(d.b)) {
		d.fail("%d items in %d bytes", n, len(d.b))
		return 0
	}
	return int(n)
}

func (d *decoder) bytes() []byte {
	n := d.count(1)
	p := d.take(n)
	d.take(padding(n))
	return p
}

func (d *decoder) string() string { return string(d.bytes()) }

// present reads whether an optional value is present.
func (d *decoder) present() bool {
	switch v := d.uint32(); v {
	case 0:
		return false
	case 1:
		return d.err == nil
	default:
		d.fail("%d where 0 or 1 is expected", v)
		return false
	}
}

func (d *decoder) optional() string {
	if d.present() {
		return d.string()
	}
	return ""
}

// end returns the first error; leftover bytes are one.
func (d *decoder) end() error {
	if len(d.b) > 0 {
		d.fail("%d bytes too many", len(d.b))
	}
	return d.err
}
