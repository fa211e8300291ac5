package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func traceIn(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTraceFile(t *testing.T) {
	path := traceIn(t, "a trace (1).txt", "0\n0.5\n2\n")
	found, trace, err := FindTrace(path)
	if err != nil || len(trace) != 3 || found.Count != 3 || found.Span != 2*time.Second || found.Rate() != 1.5 {
		t.Fatalf("found %+v, %v, %v", found, trace, err)
	}
	named, err := NameTrace(found.String(), Arrivals{}, 0)
	if err != nil || *named != found {
		t.Fatalf("%q is read as %+v, %v", found, named, err)
	}
	a, err := named.Arrivals(Arrivals{})
	if err != nil || len(a.Trace) != 3 || a.Validate() != nil {
		t.Errorf("arrivals %v, %v", a, err)
	}
	if err := os.WriteFile(path, []byte("0\n0.5\n2.0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := named.Check(); err == nil || !strings.Contains(err.Error(), "has changed since the study was read") {
		t.Errorf("a changed file: %v", err)
	}
	none, err := NameTrace("", Arrivals{Rate: 1}, time.Second)
	if err != nil || none != nil || none.Rate() != 0 || none.Check() != nil {
		t.Errorf("no trace is %v, %v", none, err)
	}
}

func TestTraceFileRefused(t *testing.T) {
	for text, want := range map[string]string{"0\n\n2\n1\n": ":4: 1 s is before", "#\n": "at least one time"} {
		if _, _, err := FindTrace(traceIn(t, "t", text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for path, want := range map[string]string{os.DevNull: "is not a file", t.TempDir(): "is not a file", "/nowhere/trace": "no such file"} {
		if _, _, err := FindTrace(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	good := TraceFile{Path: "a", Count: 1, Span: time.Second, Sum: "0123456789abcdef"}.String()
	for _, c := range []struct {
		text  string
		a     Arrivals
		pause time.Duration
		want  string
	}{
		{"a", Arrivals{}, 0, "lacks the summary of the file"},
		{strings.Replace(good, "1 in", "0 in", 1), Arrivals{}, 0, "1 to 50000000 times"},
		{strings.Replace(good, "in 1s", "in -1s", 1), Arrivals{}, 0, "does not end at"},
		{good, Arrivals{Rate: 1}, 0, "rate and trace are mutually exclusive"},
		{good, Arrivals{Poisson: true}, 0, "omit shape"},
		{good, Arrivals{}, time.Second, "think and trace are mutually exclusive"},
	} {
		if _, err := NameTrace(c.text, c.a, c.pause); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func FuzzParseTraceFile(f *testing.F) {
	f.Add("arrivals.txt (1200 in 1m0s, sha256 0123456789abcdef)")
	f.Fuzz(func(t *testing.T, text string) {
		one, err := ParseTraceFile(text)
		if err != nil {
			return
		}
		if again, err := ParseTraceFile(one.String()); err != nil || again != one {
			t.Errorf("%q is read as %+v, and that as %+v, %v", text, one, again, err)
		}
	})
}
