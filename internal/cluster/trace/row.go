// Package trace is the demand of VMs over time, as a file or in memory: arrivals and
// departures, sizes and demand. docs/cluster/traces.md describes the file.
package trace

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"plimsoll/internal/cluster/table"
)

// Kind is the kind of a row.
type Kind string

// The kinds of rows.
const (
	Arrive Kind = "arrive" // the VM exists from now on, with a size
	Demand Kind = "demand" // a new demand
	Depart Kind = "depart" // the VM is deleted
	End    Kind = "end"    // end of the trace; the last row
)

// Row is a line of a trace. Only the fields of its kind are set.
type Row struct {
	Line   int64 // in the file
	Second int64 // since the start of the trace
	VM     string
	Kind   Kind
	VCPUs  int   // of Arrive
	Memory int64 // of Arrive: bytes, configured
	CPU    int64 // of Demand: MHz
	Active int64 // of Demand: active memory in bytes
}

var columns = []string{"seconds", "vm", "event", "vcpus", "memory_bytes", "cpu_mhz", "active_bytes"}

// Columns of a row.
const (
	second = iota
	vmName
	event
	vcpus
	memory
	cpu
	active
)

// Upper bounds beyond any real amount.
const (
	MostSeconds = 3_155_760_000 // a hundred years
	MostVCPUs   = 1 << 20
	MostMHz     = 1 << 31
	MostBytes   = 1 << 53 // 8 PiB: every integer up to it is exact as a floating-point number
)

const mostName = 200 // bytes

// Rows are those of a file, whose name appears in errors. Iteration ends at the first error.
// The last row is of kind End: a file without it is truncated.
func Rows(file string, r io.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		t := table.NewReader(file, r, ",", columns...)
		if err := t.Header(); err != nil {
			yield(Row{}, err)
			return
		}
		for ended := false; ; {
			row, err := readRow(t)
			switch {
			case err == io.EOF && ended:
				return
			case err == io.EOF:
				err = t.Errorf("row %q is missing after this one: the file is truncated", End)
			case err == nil && ended:
				err = t.Errorf("a row after the end of the trace")
			}
			if !yield(row, err) || err != nil {
				return
			}
			ended = row.Kind == End
		}
	}
}

func readRow(t *table.Reader) (row Row, err error) {
	fields, err := t.Next()
	if err != nil {
		return row, err
	}
	if t.Open() {
		return row, t.Errorf("the line has no newline: the file is truncated")
	}
	row.VM, row.Kind = strings.Clone(fields[vmName]), Kind(fields[event])
	has, known := needs[row.Kind]
	if !known {
		return row, t.Errorf("event %q: must be %s, %s, %s or %s", fields[event], Arrive, Demand, Depart, End)
	}
	row.Kind, row.Line = has.kind, t.Line()
	for i := vcpus; i <= active; i++ {
		if fields[i] != "" && !has.columns[i] {
			return row, t.Errorf("%s %q: must be empty for the event %s", columns[i], fields[i], row.Kind)
		}
	}
	if (row.Kind == End) != (row.VM == "") {
		return row, t.Errorf("vm %q: a VM is required, except for the event %s", row.VM, End)
	}
	if bad := badName(row.VM); row.VM != "" && bad != "" {
		return row, t.Errorf("vm %q %s", row.VM, bad)
	}
	whole := func(column int, most int64) (n int64) {
		if err == nil && (column == second || has.columns[column]) {
			n, err = t.Whole(column, most)
		}
		return n
	}
	row.Second, row.VCPUs, row.Memory = whole(second, MostSeconds), int(whole(vcpus, MostVCPUs)), whole(memory, MostBytes)
	row.CPU, row.Active = whole(cpu, MostMHz), whole(active, MostBytes)
	if err == nil && row.Kind == Arrive && (row.VCPUs == 0 || row.Memory == 0) {
		err = t.Errorf("VM %s has no vCPUs or no memory", row.VM)
	}
	return row, err
}

// needs are the columns of a kind of row.
var needs = map[Kind]struct {
	kind    Kind
	columns [active + 1]bool
}{
	Arrive: {Arrive, [active + 1]bool{vcpus: true, memory: true}},
	Demand: {Demand, [active + 1]bool{cpu: true, active: true}},
	Depart: {kind: Depart},
	End:    {kind: End},
}

// badName is the error of an invalid name of a VM.
func badName(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "is empty"
	case strings.TrimSpace(name) != name:
		return "begins or ends with a space"
	case len(name) > mostName:
		return "is longer than " + strconv.Itoa(mostName) + " bytes"
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "contains unprintable characters"
	case strings.ContainsAny(name, `,*"`):
		return "contains a comma, a star or a quotation mark"
	}
	return ""
}

// Writer writes the rows of a trace.
type Writer struct {
	w      *bufio.Writer
	buf    []byte
	header bool
	last   int64
}

// NewWriter writes to w. The trace is incomplete before Close.
func NewWriter(w io.Writer) *Writer { return &Writer{w: bufio.NewWriter(w)} }

// Write writes one row. A row that Rows would refuse is an error. The rows of one VM must be
// in order of time, arrival first; VMs may be in any order.
func (w *Writer) Write(r Row) error {
	has, known := needs[r.Kind]
	if !known || r.Kind == End {
		return fmt.Errorf("write the trace: a row of the event %q", r.Kind)
	}
	if bad := badName(r.VM); bad != "" {
		return fmt.Errorf("write the trace: the VM's name %q %s", r.VM, bad)
	}
	all := [...]int64{second: r.Second, vcpus: int64(r.VCPUs), memory: r.Memory, cpu: r.CPU, active: r.Active}
	most := [...]int64{second: MostSeconds, vcpus: MostVCPUs, memory: MostBytes, cpu: MostMHz, active: MostBytes}
	for i, n := range all {
		if n < 0 || n > most[i] || r.Kind == Arrive && has.columns[i] && n == 0 {
			return fmt.Errorf("write the trace: %s of VM %s is out of range: %d", columns[i], r.VM, n)
		}
	}
	w.last = max(w.last, r.Second)
	b := strconv.AppendInt(w.buf[:0], r.Second, 10)
	b = append(append(append(append(b, ','), r.VM...), ','), r.Kind...)
	for i := vcpus; i <= active; i++ {
		b = append(b, ',')
		if has.columns[i] {
			b = strconv.AppendInt(b, all[i], 10)
		}
	}
	w.buf = append(b, '\n')
	return w.line(w.buf)
}

// Close writes the row that ends the trace, at a second, or at the last row if that is later.
// It does not close the underlying writer.
func (w *Writer) Close(at int64) error {
	at = max(w.last, at)
	if at > MostSeconds {
		return fmt.Errorf("write the trace: it ends in second %d", at)
	}
	if err := w.line(fmt.Appendf(nil, "%d,,%s,,,,\n", at, End)); err != nil {
		return err
	}
	if err := w.w.Flush(); err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	return nil
}

func (w *Writer) line(b []byte) error {
	if !w.header {
		w.header = true
		_, _ = w.w.WriteString(strings.Join(columns, ",") + "\n") // the next write returns any error
	}
	if _, err := w.w.Write(b); err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	return nil
}
