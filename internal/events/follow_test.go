package events

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const first = `{"format":"plimsoll-events","version":"1.3","time":"2026-01-02T03:04:05Z"}` + "\n"

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// fields calls use with the name of each field of JSON, with dots.
func fields(prefix string, of reflect.Type, use func(name string)) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() == reflect.Map && of.Elem().Kind() == reflect.Struct {
		fields(prefix+".CLASS", of.Elem(), use)
		return
	}
	if of.Kind() != reflect.Struct || of.Name() == "Time" {
		use(prefix)
		return
	}
	if prefix == "run" {
		use(prefix)
	}
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Anonymous {
			fields(prefix, field.Type, use)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields(strings.TrimPrefix(prefix+"."+name, "."), field.Type, use)
	}
}

// growing is a file of events that grows.
type growing struct {
	t    *testing.T
	dir  string
	file *os.File
}

func grow(t *testing.T) *growing {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return &growing{t, dir, file}
}

func (g *growing) add(text string) {
	g.t.Helper()
	if _, err := g.file.WriteString(text); err != nil {
		g.t.Fatal(err)
	}
}

// all reads until there is no more.
func all(t *testing.T, f *Follower) (lines []Line, anew bool) {
	t.Helper()
	for {
		b, err := f.Next()
		if err != nil {
			t.Fatal(err)
		}
		lines, anew = append(lines, b.Lines...), anew || b.Anew
		if !b.More {
			return lines, anew
		}
	}
}

func TestFollowing(t *testing.T) {
	g := grow(t)
	f := NewFollower(g.dir)
	defer f.Close()
	if _, err := f.Next(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty file: %v", err)
	}
	g.add(first + `{"trial":1}` + "\n" + `{"tri`)
	lines, anew := all(t, f)
	if len(lines) != 1 || lines[0].Trial != 1 || !anew {
		t.Errorf("%+v, anew %t", lines, anew)
	}
	offset := f.Offset()
	if offset != int64(len(first)+12) {
		t.Errorf("offset %d", offset)
	}
	g.add(`al":2}` + "\n" + "garbage\n\n[]\n" + `{"trial":"x"}` + "\n" + `{"trial":3,"unknown":[1,{"a":null}]}` + "\n")
	lines, anew = all(t, f)
	if len(lines) != 2 || lines[0].Trial != 2 || lines[1].Trial != 3 || anew || f.Bad != 3 {
		t.Errorf("%+v, anew %t, bad %d", lines, anew, f.Bad)
	}
	g.add(`{"trial":4,"notes":[{"text":"` + strings.Repeat("x", mostLine+mostRead) + `"}]}` + "\n" + `{"trial":5}` + "\n")
	lines, _ = all(t, f)
	if len(lines) != 1 || lines[0].Trial != 5 || f.Bad != 4 {
		t.Errorf("after a line that is too long: %d lines, bad %d", len(lines), f.Bad)
	}
	if err := os.Truncate(g.file.Name(), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := g.file.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	g.add(first + `{"trial":6}` + "\n")
	if lines, anew = all(t, f); len(lines) != 1 || lines[0].Trial != 6 || !anew {
		t.Errorf("a file that was cut: %+v, anew %t", lines, anew)
	}
	if err := os.Remove(g.file.Name()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Next(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is gone: %v", err)
	}
}

func TestFilesThatAreNone(t *testing.T) {
	for name, text := range map[string]string{
		"another format": `{"format":"x"}` + "\n", "no first line": "xyz", "later version": `{"format":"plimsoll-events","version":"2.0"}` + "\n",
		"long first line": `{"format":"plimsoll-events","version":"1.0","x":"` + strings.Repeat("x", mostHeader) + `"}` + "\n",
	} {
		g := grow(t)
		g.add(text)
		if _, err := NewFollower(g.dir).Next(); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	if _, err := NewFollower(dir).Next(); err == nil {
		t.Error("a link is followed")
	}
}

// Of a huge file all trials are read, and of the rest the end.
func TestHugeFile(t *testing.T) {
	g := grow(t)
	g.add(first + `{"run":{"study":"s","arms":["a"]},"trial":1}` + "\n")
	line := `{"trial":1,"load":{"from":1,"to":2,"operations":1,"rate":1},"notes":[{"phase":"x","text":"` + strings.Repeat("y", 5000) + `"}]}` + "\n"
	const n = 3000
	for i := range n {
		g.add(line)
		if i%1000 == 0 {
			g.add(fmt.Sprintf(`{"ended":[{"trial":%d,"block":1,"arm":"a"}]}`+"\n", i+1))
		}
	}
	f := NewFollower(g.dir)
	defer f.Close()
	lines, _ := all(t, f)
	var s State
	for _, l := range lines {
		s.Add(l)
	}
	if len(lines) > n/2 || len(lines) < fullTail/len(line) {
		t.Errorf("%d of %d lines were read", len(lines), n)
	}
	if s.Run == nil || s.Run.Study != "s" || len(s.Trials) != 3 || len(s.Points) != mostPoints || f.Bad != 0 {
		t.Errorf("run %+v, %d trials, %d points, %d bad lines", s.Run, len(s.Trials), len(s.Points), f.Bad)
	}
}

// What a log writes is what a follower reads.
func TestLogIsFollowed(t *testing.T) {
	dir := t.TempDir()
	file := NewFile(dir, "v")
	for _, text := range []string{`{"run":{"study":"s","arms":["a","b"]},"elapsed":1}`, `{"elapsed":2,"trial":1,"load":{"from":0,"to":1,"rate":5}}`, `{"elapsed":3,"trial":1,"load":{"from":1,"to":2,"rate":6}}`,
		`{"elapsed":4,"trial":2,"load":{"from":0,"to":1,"rate":7},"ended":[{"trial":1,"block":1,"arm":"a","value":5}]}`} {
		if err := file.Append([]byte(text + "\n")); err != nil {
			t.Fatal(err)
		}
	}
	f := NewFollower(dir)
	defer f.Close()
	var s State
	lines, _ := all(t, f)
	for _, l := range lines {
		s.Add(l)
	}
	if len(s.Points) != 3 || s.Points[0].After || !s.Points[1].After || s.Points[2].After {
		t.Errorf("points %+v", s.Points)
	}
	if len(s.Trials) != 1 || *s.Trials[0].Value != 5 || s.Last.Trial != 2 {
		t.Errorf("trials %+v", s.Trials)
	}
	again := lines[0] // the run goes on after an interrupt, and tells its trials again
	again.Ended = []Ended{{Trial: 1, Block: 1, Arm: "a"}, {Trial: 2, Block: 1, Arm: "b"}, {Trial: -1}}
	s.Add(again)
	if len(s.Trials) != 2 || len(s.Points) != 0 {
		t.Errorf("after a resume: %+v", s)
	}
	again.Run = &Run{Study: "another"}
	if s.Add(again); len(s.Trials) != 2 || s.Run.Study != "another" {
		t.Errorf("another study: %+v", s)
	}
}

// Whatever a file holds, in whatever pieces it is written, reading it ends, and the state is bounded.
func FuzzFollower(f *testing.F) {
	f.Add([]byte(`{"run":{"study":"s","arms":["a"]},"elapsed":1}`+"\n"+`{"trial":1,"load":{"from":0,"to":1,"rate":5,"p99":1e-3},"ended":[{"trial":1}],"notes":[{}]}`+"\n"), 7)
	f.Add([]byte("\n\n{}\n{\"trial\":1e99}\n\xff\xfe{\"ended\":[{\"trial\":-9}]}\n{\"machines\":[{}],\"counters\":{\"steal\":1e308}}\n{\"to"), 1)
	f.Fuzz(func(t *testing.T, data []byte, piece int) {
		g := grow(t)
		g.add(first)
		reader := NewFollower(g.dir)
		defer reader.Close()
		var s State
		piece = min(max(piece, 1), len(data)+1)
		lines := 0
		for from := 0; from < len(data); from += max(piece, len(data)/8) {
			g.add(string(data[from:min(from+max(piece, len(data)/8), len(data))]))
			got, _ := all(t, reader)
			for _, l := range got {
				s.Add(l)
			}
			lines += len(got)
		}
		rest, _ := all(t, reader) // nothing is left, but of no data nothing was read either
		lines += len(rest)
		if whole := strings.Count(string(data), "\n"); lines > whole {
			t.Errorf("%d lines of %d", lines, whole)
		}
		at := NewFollower(g.dir)
		defer at.Close()
		if once, _ := all(t, at); len(once) != lines || at.Bad != reader.Bad || at.Offset() != reader.Offset() {
			t.Errorf("read at once: %d lines, %d bad, offset %d; in pieces %d, %d, %d", len(once), at.Bad, at.Offset(), lines, reader.Bad, reader.Offset())
		}
		if len(s.Points) > mostPoints || len(s.Trials) > mostTrials || len(s.Notes) > mostNotes {
			t.Error("the state is not bounded")
		}
	})
}
