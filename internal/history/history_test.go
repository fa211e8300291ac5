package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/collect"
	"plimsoll/internal/history"
	"plimsoll/internal/history/historytest"
	"plimsoll/internal/trial/journal"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// write makes a run, and sets its times back, so that they tell whether it was changed.
func write(t *testing.T, r historytest.Run) {
	t.Helper()
	if err := historytest.Write(r); err != nil {
		t.Fatal(err)
	}
	age(t, r.Dir)
}

func age(t testing.TB, dir string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{filepath.Join(dir, journal.Name), dir} {
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

func runs(t *testing.T, x *history.Index, folders ...string) []history.Run {
	t.Helper()
	all, err := x.Runs(t.Context(), folders...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// several makes a folder with a run in each state.
func several(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	bed := collect.TestbedRecord{{Name: "cpu.model", Value: "Made Up 9000"}, {Name: "cpu.threads", Value: "8"}, {Name: "kernel.release", Value: "6.1.0"}}
	write(t, historytest.Run{Dir: filepath.Join(folder, "a"), Study: "disk", Question: "Faster?", Started: start, Trials: 12, Void: 2, Verdict: "better", Answer: "IOPS is 5 % higher.", Ratio: 1.05, Testbed: bed, Tags: []string{"keep", "before"}})
	write(t, historytest.Run{Dir: filepath.Join(folder, "b"), Study: "disk", Started: start.Add(time.Hour), Trials: 3, Open: true})
	write(t, historytest.Run{Dir: filepath.Join(folder, "c"), Study: "web", Started: start.Add(2 * time.Hour), Trials: 6, Verdict: "not enough runs", Answer: "Not enough runs.", Ratio: 1})
	write(t, historytest.Run{Dir: filepath.Join(folder, "d"), Study: "web", Started: start.Add(3 * time.Hour), Trials: 6})
	write(t, historytest.Run{Dir: filepath.Join(folder, "e"), Study: "web", Started: start.Add(4 * time.Hour)})
	if err := os.WriteFile(filepath.Join(folder, "e", "study.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, historytest.Run{Dir: filepath.Join(folder, "f"), Study: "tuned", Started: start.Add(5 * time.Hour), Verdict: "better", Answer: "Tuned.", Ratio: 1.1})
	for _, name := range []string{"tuned.json", "tune.json"} {
		if err := os.WriteFile(filepath.Join(folder, "f", name), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	age(t, filepath.Join(folder, "f"))
	if err := os.Mkdir(filepath.Join(folder, "other"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(folder, "a"), filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	return folder
}

func states(all []history.Run) (out []string) {
	for _, r := range all {
		out = append(out, filepath.Base(r.Folder)+" "+string(r.State))
	}
	return out
}

func TestRuns(t *testing.T) {
	folder := several(t)
	all := runs(t, history.New(""), folder)
	want := []string{"e damaged", "a finished", "b interrupted", "c finished", "d unjudged", "f tuned"}
	if diff := cmp.Diff(want, states(all)); diff != "" {
		t.Error(diff)
	}
	a := all[1]
	if a.Trials != 12 || a.Void != 2 || a.Verdict != "better" || a.Answer != "IOPS is 5 % higher." || a.Machine != "Made Up 9000 · 8 CPUs · 6.1.0" || len(a.Testbed) != 12 ||
		!cmp.Equal(a.Tags, []string{"before", "keep"}) || len(a.ID) != 12 || a.Time() != 13*time.Second || len(a.Headlines) != 1 || a.Headlines[0].Arm != "knob=on" || a.Digest != "0123456789ab" {
		t.Errorf("%+v", a)
	}
	if !strings.Contains(all[0].Answer, "study.json") {
		t.Errorf("damaged: %q", all[0].Answer)
	}
	if none := runs(t, history.New(""), filepath.Join(folder, "nowhere")); len(none) != 0 {
		t.Errorf("%d runs in no folder", len(none))
	}
	if twice := runs(t, history.New(""), folder, folder+"/"); len(twice) != len(all) {
		t.Errorf("%d runs in the same folder twice, %d in it once", len(twice), len(all))
	}
	if _, err := history.New("").Runs(t.Context(), filepath.Join(folder, "a", "study.yaml")); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("runs in a file: %v", err)
	}
}

// The index says what the folders say, whatever is changed in them.
func TestIndexFollowsFolders(t *testing.T) {
	folder, cache := several(t), filepath.Join(t.TempDir(), "cache")
	kept := history.New(cache)
	check := func(what string) {
		t.Helper()
		want := runs(t, history.New(""), folder)
		for name, x := range map[string]*history.Index{"kept": kept, "loaded": history.New(cache)} {
			if diff := cmp.Diff(want, runs(t, x, folder)); diff != "" {
				t.Errorf("%s, index that is %s: %s", what, name, diff)
			}
		}
	}
	check("at first")
	check("unchanged")
	if err := os.RemoveAll(filepath.Join(folder, "c")); err != nil {
		t.Fatal(err)
	}
	check("removed")
	write(t, historytest.Run{Dir: filepath.Join(folder, "g"), Study: "new", Started: start})
	check("added")
	if _, err := history.SetTags(filepath.Join(folder, "b"), []string{"odd"}, nil); err != nil {
		t.Fatal(err)
	}
	check("tagged")
	if err := historytest.Write(historytest.Run{Dir: filepath.Join(folder, "b"), Study: "disk", Started: start, Trials: 4, Open: true}); err != nil {
		t.Fatal(err)
	}
	check("appended to")
	unlock, err := journal.Lock(filepath.Join(folder, "b"))
	if err != nil {
		t.Fatal(err)
	}
	check("running")
	if all := runs(t, kept, folder); states(all)[2] != "b running" {
		t.Errorf("a locked folder: %q", states(all))
	}
	unlock()
	check("ended")
}

// Folders that have not changed are not read again: damage without a trace in the times is not seen.
func TestIndexReadsOnlyWhatChanged(t *testing.T) {
	folder, cache := several(t), t.TempDir()
	before := runs(t, history.New(cache), folder)
	name := filepath.Join(folder, "a", "study.json")
	if err := os.WriteFile(name, []byte("{"), 0o644); err != nil { // in place: no time of a folder changes
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, runs(t, history.New(cache), folder)); diff != "" {
		t.Errorf("it was read again: %s", diff)
	}
}

// A cache that cannot be used, for whatever reason, stops nothing.
func TestIndexWithoutCache(t *testing.T) {
	folder := several(t)
	want := runs(t, history.New(""), folder)
	for name, spoil := range map[string]func(cache string) error{
		"empty": func(cache string) error { return each(cache, func(string, []byte) []byte { return nil }) },
		"short": func(cache string) error { return each(cache, func(_ string, b []byte) []byte { return b[:len(b)/2] }) },
		"flipped": func(cache string) error {
			return each(cache, func(_ string, b []byte) []byte { b[len(b)-9] ^= 1; return b })
		},
		"older": func(cache string) error {
			return each(cache, func(_ string, b []byte) []byte {
				return []byte(strings.Replace(string(b), "plimsoll runs", "plimsoll runs 0", 1))
			})
		},
		"a folder": func(cache string) error {
			return each(cache, func(name string, _ []byte) []byte {
				if os.Remove(name) != nil || os.Mkdir(name, 0o700) != nil {
					panic(name)
				}
				return nil
			})
		},
		"removed": os.RemoveAll,
		"a file": func(cache string) error {
			if err := os.RemoveAll(cache); err != nil {
				return err
			}
			return os.WriteFile(cache, []byte("x"), 0o400)
		},
	} {
		t.Run(name, func(t *testing.T) {
			cache := filepath.Join(t.TempDir(), "runs")
			runs(t, history.New(cache), folder)
			if err := spoil(cache); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if diff := cmp.Diff(want, runs(t, history.New(cache), folder)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// each changes the files in a folder.
func each(folder string, change func(name string, data []byte) []byte) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(folder, e.Name())
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if data = change(name, data); data != nil {
			err = os.WriteFile(name, data, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Many indexes on one cache at once agree, while runs come and go.
func TestIndexesAtOnce(t *testing.T) {
	folder, cache := t.TempDir(), t.TempDir()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 10 {
				if err := historytest.Write(historytest.Run{Dir: filepath.Join(folder, fmt.Sprintf("%d-%d", i, n)), Study: "s", Started: start, Trials: 1, Verdict: "better", Answer: "x", Ratio: 1}); err != nil {
					t.Error(err)
				}
				if _, err := history.New(cache).Runs(t.Context(), folder); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if diff := cmp.Diff(runs(t, history.New(""), folder), runs(t, history.New(cache), folder)); diff != "" {
		t.Error(diff)
	}
	if left, err := filepath.Glob(filepath.Join(cache, ".new-*")); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
}

func TestFilter(t *testing.T) {
	all := runs(t, history.New(""), several(t))
	for want, f := range map[string]history.Filter{
		"e a b c d f": {},
		"a b":         {Study: "disk"},
		"b":           {State: history.Interrupted},
		"a f":         {Verdict: "Better"},
		"a":           {Tag: "keep"},
		"c d f":       {Since: start.Add(90 * time.Minute)},
		"":            {Study: "disk", Verdict: "worse"},
		"c":           {Text: "ENOUGH"},
	} {
		var got []string
		for _, r := range f.Select(all) {
			got = append(got, filepath.Base(r.Folder))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%+v selects %q, want %q", f, got, want)
		}
	}
	if err := (&history.Filter{State: "finish"}).Check(); err == nil || !strings.Contains(err.Error(), `did you mean "finished"`) {
		t.Errorf("an unknown state: %v", err)
	}
}

func TestSort(t *testing.T) {
	all := runs(t, history.New(""), several(t))
	for key, want := range map[string]string{"study": "e a b f c d", "-trials": "a c d b e f", "folder": "a b c d e f"} {
		if key == "study" {
			want = "a b f e c d"
			all[0].Study = "web"
		}
		sorted := append([]history.Run{}, all...)
		if err := history.Sort(sorted, key); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range sorted {
			got = append(got, filepath.Base(r.Folder))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("by %s: %q, want %q", key, got, want)
		}
	}
	if err := history.Sort(all, "size"); err == nil {
		t.Error("sorted by size")
	}
}

func TestSince(t *testing.T) {
	now := start
	for text, want := range map[string]time.Time{
		"": {}, "2026-01-01": time.Date(2026, 1, 1, 0, 0, 0, 0, time.Local), "12h": now.Add(-12 * time.Hour), "30d": now.Add(-30 * 24 * time.Hour), "2w": now.Add(-14 * 24 * time.Hour),
	} {
		if got, err := history.Since(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"d", "-1d", "1.5d", "30", "yesterday", "2026-13-01", "99999999999d", "9999999d"} {
		if got, err := history.Since(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// tagged are the tags of a run.
func tagged(t *testing.T, dir string) []string {
	t.Helper()
	tags, err := history.SetTags(dir, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return tags
}

func TestTags(t *testing.T) {
	folder := several(t)
	dir := filepath.Join(folder, "c")
	if tags, err := history.SetTags(dir, []string{"b", "a", "b"}, nil); err != nil || !cmp.Equal(tags, []string{"a", "b"}) {
		t.Errorf("%q, %v", tags, err)
	}
	if tags, err := history.SetTags(dir, nil, []string{"a", "x"}); err != nil || !cmp.Equal(tags, []string{"b"}) || !cmp.Equal(tagged(t, dir), tags) {
		t.Errorf("%q, %v", tags, err)
	}
	for _, tag := range []string{"", "two words", "<b>", "-x", strings.Repeat("x", 41), "ü", "a\x1b"} {
		if _, err := history.SetTags(dir, []string{tag}, nil); err == nil {
			t.Errorf("the tag %q is set", tag)
		}
	}
	if _, err := history.SetTags(folder, []string{"x"}, nil); err == nil {
		t.Error("a folder that is no run is tagged")
	}
	if err := os.WriteFile(filepath.Join(dir, history.TagFile), []byte(`{"tags": ["ok", "<script>", "ok"]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if tags := tagged(t, dir); !cmp.Equal(tags, []string{"ok"}) {
		t.Errorf("of a hostile file: %q", tags)
	}
}

func TestPrune(t *testing.T) {
	all := runs(t, history.New(""), several(t))
	for want, p := range map[string]history.Prune{
		"b c d": {},
		"b":     {Older: 48*time.Hour - 90*time.Minute},
		"c":     {Keep: 1},
		"":      {Older: 48 * time.Hour},
	} {
		var got []string
		for _, r := range p.Select(all, start.Add(48*time.Hour)) {
			got = append(got, filepath.Base(r.Folder))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%+v selects %q, want %q", p, got, want)
		}
	}
}

func TestRemove(t *testing.T) {
	folder := several(t)
	write(t, historytest.Run{Dir: filepath.Join(folder, "left"), Study: "s", Started: start, Open: true, Left: true})
	unlock, err := journal.Lock(filepath.Join(folder, "d"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	for name, want := range map[string]string{"a": "has the tag keep", "d": "the run goes on", "left": "were not undone", "c": ""} {
		dir := filepath.Join(folder, name)
		err := history.Remove(dir)
		_, gone := os.Stat(dir)
		switch {
		case want == "" && (err != nil || gone == nil):
			t.Errorf("%s: %v, %v", name, err, gone)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || gone != nil):
			t.Errorf("%s: %v, %v, want %q", name, err, gone, want)
		}
	}
	if err := os.Rename(filepath.Join(folder, "f"), filepath.Join(folder, ".removing-f")); err != nil {
		t.Fatal(err)
	}
	if err := history.Sweep(folder); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(folder, ".removing-*")); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
}
