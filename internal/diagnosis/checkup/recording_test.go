package checkup

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/diagnosis/diagnosistest"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/watch"
)

// crowded is a recording of a host on which a server waits for a program that computes.
func crowded() *watch.Answer {
	e := diagnosistest.Healthy(2)
	diagnosistest.Run(e, hoststat.Process{PID: 5, Name: "batch", Allowed: "0-1", User: 1.9, RunDelay: 2})
	diagnosistest.Run(e, hoststat.Process{PID: 6, Name: "shop", Group: "/system.slice/shop.service", Allowed: "0-1", User: 0.05, System: 0.03, RunDelay: 0.2, Voluntary: 500})
	diagnosistest.Use(e, 1, 0, 1)
	return &watch.Answer{Recording: &e.Recording, Own: []int{1}, Root: true}
}

func TestRecording(t *testing.T) {
	dir := t.TempDir()
	a := crowded()
	want := judge("", a)
	first, err := a.Save(dir, "admin@db:1/x")
	if err != nil {
		t.Fatal(err)
	}
	second, err := a.Save(dir, "admin@db:1/x")
	if err != nil || first == second || filepath.Dir(second) != dir {
		t.Fatalf("saved in %s and %s, %v", first, second, err)
	}
	b, err := watch.Open(second)
	if err != nil {
		t.Fatal(err)
	}
	got := judge("", b)
	if len(want.Findings) == 0 || len(got.Findings) != len(want.Findings) || got.Findings[0].Says != want.Findings[0].Says {
		t.Errorf("the recording gives %+v, the host gave %+v", got.Findings, want.Findings)
	}
	for _, job := range []watch.Job{{Service: "shop"}, {Processes: []int{6}}} {
		if err := b.Ask(job); err != nil || len(b.Focus) != 1 || b.Focus[0] != 6 {
			t.Errorf("%+v asks about %v, %v", job, b.Focus, err)
		}
	}
	for _, job := range []watch.Job{{Service: "shoe"}, {Processes: []int{6, 7}}} {
		if err := b.Ask(job); err == nil {
			t.Errorf("%+v asks about %v", job, b.Focus)
		}
	}
}

func TestBadRecordings(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"plain": `{"recording":{}}`, "empty": "", "none": string(packed("{}")), "an error": string(packed(`{"error":"no /proc"}`)),
		"cut": string(packed(`{"recording":{"facts":{},"mean":{}}}`)[:20]), "CPUs": string(packed(`{"recording":{"facts":{"cpus":[]},"mean":{"cpus":"two"}}}`)),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if a, err := watch.Open(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
}

func packed(text string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// FuzzRecording judges recordings in which values were replaced: lists are cut, numbers are
// forged, parts are missing.
func FuzzRecording(f *testing.F) {
	short := crowded()
	short.Recording.Intervals = short.Recording.Intervals[:3]
	text, err := json.Marshal(short)
	if err != nil {
		f.Fatal(err)
	}
	for seed := range uint64(200) {
		f.Add(seed, uint8(1+seed%8))
	}
	path := filepath.Join(f.TempDir(), "recording")
	f.Fuzz(func(t *testing.T, seed uint64, changes uint8) {
		var tree any
		if err := json.Unmarshal(text, &tree); err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(seed, 1))
		for range changes {
			tree = forge(random, tree)
		}
		forged, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, packed(string(forged)), 0o600); err != nil {
			t.Fatal(err)
		}
		if a, err := watch.Open(path); err == nil {
			judge("", a)
		}
	})
}

// forge changes one place of a tree of JSON values.
func forge(random *rand.Rand, value any) any {
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			return nil
		}
		name := slices.Sorted(maps.Keys(v))[random.IntN(len(v))]
		if random.IntN(12) == 0 {
			delete(v, name)
		} else {
			v[name] = forge(random, v[name])
		}
		return v
	case []any:
		if len(v) == 0 || random.IntN(8) == 0 {
			return []any{}
		}
		at := random.IntN(len(v))
		if random.IntN(8) == 0 {
			return v[:at]
		}
		v[at] = forge(random, v[at])
		return v
	case float64:
		return []float64{0, -1, 1e300, -v, v * 1e6, 1e-300}[random.IntN(6)]
	case string:
		return []string{"", "0-99999", "{", "CPU 1/KVM", "\x00", "9999999999"}[random.IntN(6)]
	case bool:
		return !v
	}
	return value
}
