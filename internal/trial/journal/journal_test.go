package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// example is a journal of four entries.
func example(t testing.TB) ([]byte, []Entry) {
	t.Helper()
	dir := t.TempDir()
	j, err := Open(dir, filepath.Join(dir, "undo"), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	j.now = func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC) }
	for _, e := range []Entry{
		{Kind: KindBegin, Begin: &Begin{Study: "s", Seed: 1 << 63, Scratch: "/with\nnewline \"and\" <more>"}},
		{Kind: KindChange, Setting: &Setting{Factor: "a", Former: "x\ty ", Level: "ü,\"crc\":\"00000000\"}"}},
		{Kind: KindTrialEnded, Trial: 1, Record: "r"},
		{Kind: KindEnd},
	} {
		if err := j.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, Name))
	if err != nil {
		t.Fatal(err)
	}
	return data, j.Entries()
}

func TestJournalSurvivesDisk(t *testing.T) {
	data, want := example(t)
	got, good, err := parseJournal(data)
	if err != nil || good != len(data) {
		t.Fatalf("%d of %d bytes, %v", good, len(data), err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Wherever the last line is torn, it is dropped and nothing else.
func TestTornLastLineIsDropped(t *testing.T) {
	data, want := example(t)
	last := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
	for cut := last; cut < len(data); cut++ {
		got, good, err := parseJournal(data[:cut])
		if err != nil || good != last || len(got) != len(want)-1 {
			t.Fatalf("cut at %d: %d entries, %d good bytes, %v", cut, len(got), good, err)
		}
	}
}

func TestAppendAfterATornLine(t *testing.T) {
	data, want := example(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, Name), data[:len(data)-5], 0o644); err != nil {
		t.Fatal(err)
	}
	j, err := Open(dir, filepath.Join(dir, "undo"), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Append(Entry{Kind: KindInterrupted}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) || got[len(got)-1].Kind != KindInterrupted {
		t.Errorf("entries %+v", got)
	}
}

func TestDamageIsNamed(t *testing.T) {
	data, _ := example(t)
	lines := bytes.SplitAfter(data, []byte("\n"))
	join := func(lines ...[]byte) []byte { return bytes.Join(lines, nil) }
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"torn in the middle", join(lines[0], lines[1][:20], []byte("\n"), lines[2], lines[3]), "line 2: its checksum"},
		{"a letter changed", bytes.Replace(data, []byte(`"trial":1`), []byte(`"trial":2`), 1), "line 3: its checksum"},
		{"a line missing", join(lines[0], lines[2], lines[3]), "line 2: entry 3 follows where entry 2 is expected"},
		{"no beginning", join(lines[1], lines[2]), "line 1: entry 2"},
		{"an empty line", join(lines[0], []byte("\n"), lines[1], lines[2]), "line 2: too short"},
		{"twice", join(lines[0], lines[1], lines[1], lines[2]), "line 3: entry 2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, Name), test.data, 0o644); err != nil {
				t.Fatal(err)
			}
			for what, open := range map[string]func() error{
				"read": func() error { _, err := Read(dir); return err },
				"open": func() error { _, err := Open(dir, filepath.Join(dir, "undo"), func(string) {}); return err },
			} {
				if err := open(); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: %v, want %q", what, err, test.want)
				}
			}
		})
	}
}

func TestNoJournal(t *testing.T) {
	dir := t.TempDir()
	if _, err := LogsOf(dir, filepath.Join(dir, "undo")); err == nil || !strings.Contains(err.Error(), "no journal") {
		t.Errorf("error %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("restore made %v in a folder that is none of a run, %v", left, err)
	}
}

// Whatever the bytes, the entries that are accepted stand at the start of the
// file, and what follows them is one line at most.
func FuzzJournal(f *testing.F) {
	data, _ := example(f)
	f.Add(data)
	f.Add(data[:len(data)-3])
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, good, err := parseJournal(data)
		if err != nil {
			return
		}
		if rest := data[good:]; bytes.IndexByte(rest, '\n') >= 0 && bytes.IndexByte(rest, '\n') != len(rest)-1 {
			t.Errorf("%d whole lines dropped silently", bytes.Count(rest, []byte("\n")))
		}
		for i, e := range entries {
			if e.Sequence != i+1 {
				t.Errorf("entry %d has number %d", i+1, e.Sequence)
			}
		}
		outstanding(entries)
		again, _, err := parseJournal(data[:good])
		if err != nil || len(again) != len(entries) {
			t.Errorf("%d entries became %d, %v", len(entries), len(again), err)
		}
	})
}

func TestStateFolder(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/state")
	if dir, err := StateFolder(); err != nil || dir != "/state/plimsoll" {
		t.Errorf("%s, %v", dir, err)
	}
	// A relative path is invalid by the XDG specification and counts as unset.
	t.Setenv("XDG_STATE_HOME", "state")
	if dir, err := StateFolder(); err != nil || !filepath.IsAbs(dir) {
		t.Errorf("%s, %v", dir, err)
	}
}
