// Package foreigntest is the conformance suite of the formats of other tools.
package foreigntest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"plimsoll/internal/measure/foreign"
)

// Want is what a run must have: numbers as the tool's own report says.
type Want struct {
	Tool     string
	Length   float64 // s
	Cut      float64 // s
	Values   map[string]float64
	Absent   []string // metrics
	Counts   map[string]int64
	Levels   map[string]string
	Counters map[string]float64
	Warning  string // part of one
	Void     string // part of it; empty for a valid run
}

// File parses a file and compares its runs. Values must agree to a billionth. The file is then tried with line ends of
// Windows, as UTF-16, cut anywhere, and empty.
func File(t *testing.T, f foreign.Format, path string, want ...Want) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Sniff(data[:min(len(data), foreign.Head)]) {
		t.Errorf("%s is not recognised as %s", path, f.Name)
	}
	runs, err := parse(f, data)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(runs) != len(want) {
		t.Fatalf("%s has %d runs, want %d", path, len(runs), len(want))
	}
	for i := range runs {
		if err := runs[i].Check(); err != nil {
			t.Errorf("%s, run %d: %v", path, i+1, err)
		}
		compare(t, fmt.Sprintf("%s, run %d", path, i+1), &runs[i], want[i])
	}
	written(t, f, data, runs)
}

func parse(f foreign.Format, data []byte) ([]foreign.Run, error) {
	return f.Parse(foreign.NewText(bytes.NewReader(data)))
}

func compare(t *testing.T, name string, r *foreign.Run, want Want) {
	t.Helper()
	if want.Tool != "" && r.Tool != want.Tool {
		t.Errorf("%s: tool %q, want %q", name, r.Tool, want.Tool)
	}
	if want.Length > 0 && math.Abs(r.Length.Seconds()-want.Length) > 1e-6 || math.Abs(r.Cut.Seconds()-want.Cut) > 1e-6 {
		t.Errorf("%s: %s after %s, want %v s after %v s", name, r.Length, r.Cut, want.Length, want.Cut)
	}
	near(t, name, r.Values, want.Values)
	near(t, name, r.Counters, want.Counters)
	for _, metric := range want.Absent {
		if v, ok := r.Values[metric]; ok {
			t.Errorf("%s: %s is %v, and the file cannot carry it", name, metric, v)
		}
	}
	for count, n := range want.Counts {
		if got, ok := r.Counts[count]; !ok || got != n {
			t.Errorf("%s: %s is %d, want %d", name, count, got, n)
		}
	}
	for level, text := range want.Levels {
		if r.Levels[level] != text {
			t.Errorf("%s: %s is %q, want %q", name, level, r.Levels[level], text)
		}
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), want.Warning) {
		t.Errorf("%s: no warning %q in %q", name, want.Warning, r.Warnings)
	}
	if !strings.Contains(r.Void, want.Void) || (r.Void != "") != (want.Void != "") {
		t.Errorf("%s: void for %q, want %q", name, r.Void, want.Void)
	}
}

func near(t *testing.T, name string, got, want map[string]float64) {
	t.Helper()
	for metric, v := range want {
		if found, ok := got[metric]; !ok || math.Abs(found-v) > 1e-9*math.Abs(v) {
			t.Errorf("%s: %s is %v (present: %v), want %v", name, metric, found, ok, v)
		}
	}
}

// written tries other ways in which the same text may be written.
func written(t *testing.T, f foreign.Format, data []byte, runs []foreign.Run) {
	t.Helper()
	for name, text := range map[string][]byte{
		"CRLF":                 bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")),
		"UTF-8 with a mark":    append([]byte{0xEF, 0xBB, 0xBF}, data...),
		"UTF-16 little endian": wide(data, binary.LittleEndian, []byte{0xFF, 0xFE}),
		"UTF-16 big endian":    wide(data, binary.BigEndian, []byte{0xFE, 0xFF}),
		"UTF-16 with CRLF":     wide(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")), binary.LittleEndian, []byte{0xFF, 0xFE}),
	} {
		again, err := parse(f, text)
		if err != nil || !reflect.DeepEqual(again, runs) {
			t.Errorf("%s: as %s it is read as %+v, %v", f.Name, name, again, err)
		}
		if !f.Sniff(bytes.ReplaceAll(foreign.Decoded(text[:min(len(text), foreign.Head)]), []byte("\r\n"), []byte("\n"))) {
			t.Errorf("%s: as %s it is not recognised", f.Name, name)
		}
	}
	step := max(1, len(data)/200)
	for n := 0; n < len(data); n += step { // none of them may panic, or give numbers that are none
		sound(t, f, data[:n])
	}
	if found, err := parse(f, nil); err == nil {
		for i := range found {
			if found[i].Check() == nil && found[i].Void == "" {
				t.Errorf("%s: an empty file has the result %+v", f.Name, found[i])
			}
		}
	}
}

func wide(data []byte, order binary.AppendByteOrder, mark []byte) []byte {
	for _, unit := range utf16.Encode([]rune(string(data))) {
		mark = order.AppendUint16(mark, unit)
	}
	return mark
}

// sound parses a text that may be anything: what passes the check has possible numbers only.
func sound(t *testing.T, f foreign.Format, data []byte) {
	runs, err := parse(f, data)
	if err != nil {
		return
	}
	for i := range runs {
		r := &runs[i]
		if r.Check() != nil {
			continue
		}
		record := r.Record()
		if err := record.Plausible(); err != nil {
			t.Errorf("%s: the check passes what is no measurement: %v", f.Name, err)
		}
		for name, v := range r.Values {
			if v < 0 {
				t.Errorf("%s: %s is %v", f.Name, name, v)
			}
		}
	}
}

// Refused parses a text that must be refused, with a message that contains all parts.
func Refused(t *testing.T, f foreign.Format, text string, parts ...string) {
	t.Helper()
	runs, err := parse(f, []byte(text))
	for i := range runs {
		if err == nil {
			err = runs[i].Check()
		}
	}
	if err == nil {
		t.Errorf("%s: %q is accepted", f.Name, text[:min(len(text), 60)])
		return
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%s: the message has several lines: %v", f.Name, err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: the message %q has no %q", f.Name, err, part)
		}
	}
}

// Fuzz parses anything, beginning with the files of a folder.
func Fuzz(f *testing.F, format foreign.Format, pattern string) {
	for _, path := range glob(f, pattern) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		format.Sniff(data[:min(len(data), foreign.Head)])
		sound(t, format, data)
	})
}

func glob(f *testing.F, pattern string) []string {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		f.Fatalf("no file %s: %v", pattern, err)
	}
	return names
}
