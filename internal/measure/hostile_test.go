package measure

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// outside is a name that leads from the folder of a trial to a file elsewhere.
func outside(t *testing.T, trial string) (file, name string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "outside")
	name, err := filepath.Rel(trial, file)
	if err != nil {
		t.Fatal(err)
	}
	return file, name
}

// Files beside a record are named after machines, and machines name themselves.
func TestFilesStayBesideTheirRecord(t *testing.T) {
	r := OpenResults(t.TempDir())
	file, name := outside(t, r.trialDir(1))
	for _, bad := range []string{name, "counters-/../" + name, file, "..", ".", "", "a/b", "a\x00b", strings.Repeat("a", 256)} {
		record := &Record{Trial: 1}
		if _, err := r.WriteTrial(record, map[string][]byte{bad: []byte("x")}); err == nil {
			t.Errorf("%.40q is written", bad)
		}
	}
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	forged := &Record{Trial: 1, Files: map[string]string{name: Checksum([]byte("secret"))}}
	if text, err := r.File(forged, name); err == nil {
		t.Errorf("%q is read: %q", name, text)
	}
	if _, err := r.WriteTrial(&Record{Trial: 1}, map[string][]byte{"counters-host_1.example.csv": []byte("x")}); err != nil {
		t.Error(err)
	}
}

// No link in a folder leads what is written there elsewhere.
func TestWritingFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	file, name := outside(t, dir)
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{".report.html.new", "report.html"} {
		if err := os.Symlink(name, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := WriteFile(filepath.Join(dir, "report.html"), []byte("page")); err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "precious" {
		t.Errorf("the file elsewhere: %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "report.html")); err != nil || string(text) != "page" {
		t.Errorf("the file: %q, %v", text, err)
	}
}

func TestWhatIsNoFileIsNotRead(t *testing.T) {
	dir := t.TempDir()
	name := func(name string) string { return filepath.Join(dir, name) }
	if err := syscall.Mkfifo(name("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"zero": "/dev/zero", "loop": "loop", "linked pipe": "pipe"} {
		if err := os.Symlink(to, name(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name("huge"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name("huge"), mostFile+1); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"pipe", "zero", "loop", "linked pipe", "huge", "."} {
		for way, read := range map[string]func() ([]byte, error){
			"result": func() ([]byte, error) { return ReadFileIn(dir, bad) },
			"import": func() ([]byte, error) { return ReadImported(name(bad)) },
		} {
			if data, err := read(); err == nil {
				t.Errorf("%s, %s: %d bytes are read", bad, way, len(data))
			}
		}
	}
}

// full is a histogram in which every counter is hit: 270 KB, packed into a hundred bytes.
func full() *Histogram {
	h := NewHistogram()
	for i := range counters {
		h.add(i, 1)
	}
	return h
}

// What unpacks to more than a load yields is refused before it takes the memory.
func TestHistogramsThatAreBombs(t *testing.T) {
	packed, err := full().MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var table, log, classes strings.Builder
	table.WriteString("header,,,,,,,,,,,\n")
	for i := range mostHits/counters + 2 {
		fmt.Fprintf(&table, "%d,%d,a,1,0,0,0,0,0,0,0,0\n", i, i+1)
		fmt.Fprintf(&log, "Tag=a,%d,1,0.0,%s\n", i, packed)
	}
	for i := range mostClasses + 1 {
		fmt.Fprintf(&classes, "Tag=%d,0,1,0.0,%s\n", i, packed)
	}
	if _, err := decodeIntervals(map[string][]byte{"intervals.csv": []byte(table.String()), "intervals.hlog": []byte(log.String())}); err == nil || !strings.Contains(err.Error(), "counters after decompression") {
		t.Errorf("%d bytes: %v", table.Len()+log.Len(), err)
	}
	if _, err := decodeHistograms([]byte(classes.String())); err == nil || !strings.Contains(err.Error(), "more than 1000 lines") {
		t.Errorf("%d bytes: %v", classes.Len(), err)
	}
	wire := map[string]any{"From": 0, "To": time.Second}
	latency, samples := map[string]*Histogram{}, []Sample{}
	for i := range mostUnpacked + 1 {
		class := fmt.Sprint(i)
		latency[class] = full()
		samples = append(samples, Sample{Class: class, Operations: 1})
	}
	wire["Latency"], wire["Samples"] = latency, samples
	text, err := json.Marshal(wire)
	if err != nil {
		t.Fatal(err)
	}
	var i Interval
	if err := json.Unmarshal(text, &i); err == nil || !strings.Contains(err.Error(), "histograms of 65 operation classes") {
		t.Errorf("%d bytes: %v", len(text), err)
	}
}
