package exchange

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Constants of the Parquet format (github.com/apache/parquet-format, parquet.thrift).
const (
	typeBoolean, typeInt64, typeDouble, typeBytes = 0, 2, 5, 6
	required, optional                            = 0, 1
	utf8Text                                      = 0
	plainEncoding, runLengthEncoding              = 0, 3
	gzipCodec                                     = 2
	dataPage                                      = 0
)

// groupRows is the number of rows buffered in memory before they are written.
const groupRows = 1 << 17

// parquetFile writes a table column by column: row groups of one plain, compressed
// page for each column, then the metadata.
type parquetFile struct {
	out     io.Writer
	most    int64 // rows per group
	at      int64 // offset of the next write
	columns []*chunk
	rows    int64 // of the group
	groups  []group
}

// group is a written row group.
type group struct {
	rows, bytes int64
	chunks      []written
}

// written is the location of a column's page.
type written struct{ at, plain, compressed, values int64 }

// chunk collects the values of a column in a row group.
type chunk struct {
	column
	physical int
	missing  bool   // the column is optional
	defined  bits   // which values are present, if optional
	flags    bits   // boolean values
	data     []byte // other values
}

// bits are packed, the first in the lowest bit.
type bits struct {
	packed []byte
	n      int
}

func (b *bits) add(set bool) {
	if b.n%8 == 0 {
		b.packed = append(b.packed, 0)
	}
	if set {
		b.packed[b.n/8] |= 1 << (b.n % 8)
	}
	b.n++
}

func newChunk(c column) *chunk {
	k := &chunk{column: c}
	switch c.cell(&row{}).(type) {
	case bool:
		k.physical = typeBoolean
	case int64:
		k.physical = typeInt64
	case float64:
		k.physical = typeDouble
	case *float64:
		k.physical, k.missing = typeDouble, true
	default:
		k.physical = typeBytes
	}
	return k
}

func (k *chunk) add(r *row) {
	switch v := k.cell(r).(type) {
	case bool:
		k.flags.add(v)
	case int64:
		k.data = binary.LittleEndian.AppendUint64(k.data, uint64(v))
	case float64:
		k.data = binary.LittleEndian.AppendUint64(k.data, math.Float64bits(v))
	case *float64:
		if k.defined.add(v != nil); v != nil {
			k.data = binary.LittleEndian.AppendUint64(k.data, math.Float64bits(*v))
		}
	case string:
		k.data = append(binary.LittleEndian.AppendUint32(k.data, uint32(len(v))), v...)
	}
}

// page is the content of a data page: the definition levels as one bit-packed run if the
// column is optional, and the values.
func (k *chunk) page() []byte {
	switch {
	case k.physical == typeBoolean:
		return k.flags.packed
	case !k.missing:
		return k.data
	}
	run := append(binary.AppendUvarint(nil, uint64(len(k.defined.packed))<<1|1), k.defined.packed...)
	page := binary.LittleEndian.AppendUint32(nil, uint32(len(run)))
	return append(append(page, run...), k.data...)
}

// writeParquet writes the rows of writeCSV as a Parquet table. A missing value is null.
func writeParquet(w io.Writer, run Run) error { return writeGroups(w, run, groupRows) }

func writeGroups(w io.Writer, run Run, most int64) error {
	f := &parquetFile{out: w, most: most}
	for _, c := range run.columns() {
		f.columns = append(f.columns, newChunk(c))
	}
	err := f.write([]byte("PAR1"))
	for one := range run.rows() {
		for _, k := range f.columns {
			k.add(&one)
		}
		if f.rows++; f.rows == f.most {
			err = f.flush()
		}
		if err != nil {
			break
		}
	}
	if err == nil {
		err = f.close()
	}
	if err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	return nil
}

func (f *parquetFile) write(b []byte) error {
	n, err := f.out.Write(b)
	f.at += int64(n)
	return err
}

// flush writes the row group unless it is empty.
func (f *parquetFile) flush() error {
	if f.rows == 0 {
		return nil
	}
	g := group{rows: f.rows}
	for i, k := range f.columns {
		page, err := f.writePage(k.page())
		if err != nil {
			return err
		}
		g.chunks = append(g.chunks, page)
		g.bytes += page.plain
		f.columns[i] = newChunk(k.column)
	}
	f.groups = append(f.groups, g)
	f.rows = 0
	return nil
}

// writePage writes a page of all values of a column in the row group.
func (f *parquetFile) writePage(content []byte) (written, error) {
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	if _, err := z.Write(content); err != nil {
		return written{}, err
	}
	if err := z.Close(); err != nil {
		return written{}, err
	}
	var head thrift
	head.i32(1, dataPage)
	head.i32(2, len(content))
	head.i32(3, compressed.Len())
	head.structure(5, func(t *thrift) {
		t.i32(1, int(f.rows))
		t.i32(2, plainEncoding)
		t.i32(3, runLengthEncoding)
		t.i32(4, runLengthEncoding)
	})
	header := head.end()
	w := written{at: f.at, values: f.rows, plain: int64(len(header) + len(content)), compressed: int64(len(header) + compressed.Len())}
	err := f.write(header)
	if err == nil {
		err = f.write(compressed.Bytes())
	}
	return w, err
}

// close writes the last row group and the metadata.
func (f *parquetFile) close() error {
	if err := f.flush(); err != nil {
		return err
	}
	metadata := f.metadata()
	metadata = binary.LittleEndian.AppendUint32(metadata, uint32(len(metadata)))
	return f.write(append(metadata, "PAR1"...))
}

func (f *parquetFile) metadata() []byte {
	var t thrift
	var rows int64
	for _, g := range f.groups {
		rows += g.rows
	}
	t.i32(1, 1) // version
	t.list(2, kindStruct, 1+len(f.columns))
	t.element(func(t *thrift) {
		t.text(4, "row")
		t.i32(5, len(f.columns))
	})
	for _, k := range f.columns {
		t.element(k.schema)
	}
	t.i64(3, rows)
	t.list(4, kindStruct, len(f.groups))
	for _, g := range f.groups {
		t.element(func(t *thrift) { f.describe(t, g) })
	}
	t.text(6, "plimsoll")
	return t.end()
}

func (k *chunk) schema(t *thrift) {
	t.i32(1, k.physical)
	repetition := required
	if k.missing {
		repetition = optional
	}
	t.i32(3, repetition)
	t.text(4, k.name)
	if k.physical == typeBytes {
		t.i32(6, utf8Text)
	}
}

func (f *parquetFile) describe(t *thrift, g group) {
	t.list(1, kindStruct, len(g.chunks))
	for i, c := range g.chunks {
		t.element(func(t *thrift) {
			t.i64(2, c.at)
			t.structure(3, func(t *thrift) { f.columns[i].describe(t, c) })
		})
	}
	t.i64(2, g.bytes)
	t.i64(3, g.rows)
}

func (k *chunk) describe(t *thrift, c written) {
	t.i32(1, k.physical)
	t.list(2, kindI32, 2)
	t.number(plainEncoding)
	t.number(runLengthEncoding)
	t.list(3, kindText, 1)
	t.bytes(k.name)
	t.i32(4, gzipCodec)
	t.i64(5, c.values)
	t.i64(6, c.plain)
	t.i64(7, c.compressed)
	t.i64(9, c.at)
}
