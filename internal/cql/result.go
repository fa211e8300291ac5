package cql

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
)

// The kinds of result.
const (
	resultVoid     = 1
	resultRows     = 2
	resultKeyspace = 3
	resultPrepared = 4
	resultSchema   = 5
)

// Failed reports whether a message reports an error.
func (m Message) Failed() bool { return m.Opcode == opError }

// Result reports whether a message is the result of a statement.
func (m Message) Result() bool { return m.Opcode == opResult }

// Rows parses the rows of a result in order. It does not allocate.
type Rows struct {
	values  values
	Columns int
	Left    int // rows that were not started yet
}

const (
	metadataGlobal  = 0x01
	metadataMore    = 0x02
	metadataNone    = 0x04
	metadataChanged = 0x08
)

// ReadRows parses the header of a result. Other kinds of results have no rows. Column metadata
// is skipped: it is known from the prepared statement.
func ReadRows(body []byte) (Rows, error) {
	r := Rows{values: values{rest: body}}
	if kind := r.values.int(); r.values.bad || kind != resultRows {
		return Rows{}, r.cut()
	}
	r.Columns = r.values.metadata(nil)
	if r.Left = r.values.int(); r.Left < 0 || r.Columns < 0 {
		r.values.bad = true
	}
	return r, r.cut()
}

func (r *Rows) cut() error {
	if r.values.bad {
		return errCut
	}
	return nil
}

// Value is the next value, nil for null. After the last value of a row the next row starts.
func (r *Rows) Value() []byte { return r.values.bytes() }

// Err returns an error if the result was truncated.
func (r *Rows) Err() error { return r.cut() }

// Skip skips all rows and returns an error if the result is truncated.
func (r *Rows) Skip() error {
	if r.Left*r.Columns > len(r.values.rest) { // each value takes four bytes
		return errCut
	}
	for n := r.Left * r.Columns; n > 0; n-- {
		r.values.bytes()
	}
	if r.values.bad || len(r.values.rest) != 0 {
		return errCut
	}
	return nil
}

// column is a column of a result.
type column struct {
	Name string
	kind int
	of   []int // element types of a collection, else nil
}

// metadata parses the metadata before rows, and calls the function for each column.
func (v *values) metadata(each func(column)) (columns int) {
	flags := v.int()
	columns = v.int()
	if flags&metadataMore != 0 {
		v.bytes()
	}
	if flags&metadataChanged != 0 {
		v.shortBytes()
	}
	if flags&metadataNone != 0 {
		return columns
	}
	if flags&metadataGlobal != 0 {
		v.shortBytes()
		v.shortBytes()
	}
	for n := columns; n > 0 && !v.bad; n-- {
		if flags&metadataGlobal == 0 {
			v.shortBytes()
			v.shortBytes()
		}
		name := v.shortBytes()
		kind, of := v.kind(0)
		if each != nil {
			each(column{string(name), kind, of})
		}
	}
	return columns
}

// The value types with special handling.
const (
	kindCustom    = 0x00
	kindBigint    = 0x02
	kindBlob      = 0x03
	kindBoolean   = 0x04
	kindCounter   = 0x05
	kindDouble    = 0x07
	kindFloat     = 0x08
	kindInt       = 0x09
	kindTimestamp = 0x0b
	kindUUID      = 0x0c
	kindTimeUUID  = 0x0f
	kindInet      = 0x10
	kindSmallint  = 0x13
	kindTinyint   = 0x14
	kindList      = 0x20
	kindMap       = 0x21
	kindSet       = 0x22
	kindRecord    = 0x30
	kindTuple     = 0x31
)

const mostDepth = 16 // of collections in collections

func (v *values) kind(depth int) (kind int, of []int) {
	kind = v.short()
	if v.bad || depth > mostDepth {
		v.bad = true
		return kind, nil
	}
	inner := func() {
		k, _ := v.kind(depth + 1)
		of = append(of, k)
	}
	switch kind {
	case kindCustom:
		v.shortBytes()
	case kindList, kindSet:
		inner()
	case kindMap:
		inner()
		inner()
	case kindRecord:
		v.shortBytes()
		v.shortBytes()
		for n := v.short(); n > 0 && !v.bad; n-- {
			v.shortBytes()
			inner()
		}
	case kindTuple:
		for n := v.short(); n > 0 && !v.bad; n-- {
			inner()
		}
	}
	return kind, of
}

// text formats a value roughly as cqlsh does; null is empty.
func (c column) text(b []byte) string {
	switch c.kind {
	case kindList, kindSet, kindMap:
		return c.collection(b)
	}
	return textOf(c.kind, b)
}

// collection formats a collection, comma-separated; entries of a map as key=value.
func (c column) collection(b []byte) string {
	v, parts := values{rest: b}, []string{}
	for n := v.int(); n > 0 && !v.bad; n-- {
		part := textOf(c.of[0], v.bytes())
		if c.kind == kindMap {
			part += "=" + textOf(c.of[1], v.bytes())
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

func textOf(kind int, b []byte) string {
	switch {
	case len(b) == 0:
		return ""
	case (kind == kindBigint || kind == kindCounter || kind == kindTimestamp) && len(b) == 8:
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(b)), 10)
	case kind == kindInt && len(b) == 4:
		return strconv.FormatInt(int64(int32(binary.BigEndian.Uint32(b))), 10)
	case kind == kindSmallint && len(b) == 2:
		return strconv.Itoa(int(int16(binary.BigEndian.Uint16(b))))
	case kind == kindTinyint && len(b) == 1:
		return strconv.Itoa(int(int8(b[0])))
	case kind == kindDouble && len(b) == 8:
		return strconv.FormatFloat(math.Float64frombits(binary.BigEndian.Uint64(b)), 'g', -1, 64)
	case kind == kindFloat && len(b) == 4:
		return strconv.FormatFloat(float64(math.Float32frombits(binary.BigEndian.Uint32(b))), 'g', -1, 32)
	case kind == kindBoolean:
		return strconv.FormatBool(b[0] != 0)
	case kind == kindInet:
		if a, ok := netip.AddrFromSlice(b); ok {
			return a.String()
		}
	case (kind == kindUUID || kind == kindTimeUUID) && len(b) == 16:
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	case kind == kindBlob || kind == kindRecord || kind == kindTuple:
		return fmt.Sprintf("0x%x", b)
	}
	return string(b)
}
