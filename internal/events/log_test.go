package events

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/trial"
)

// memory is an output that can be full.
type memory struct {
	bytes.Buffer
	full bool
}

func (m *memory) Every() time.Duration { return every }
func (m *memory) Append(line []byte) error {
	if m.full {
		return errors.New("full")
	}
	m.Write(line)
	return nil
}

func (m *memory) lines(t *testing.T) (all []Line) {
	t.Helper()
	for text := range strings.Lines(m.String()) {
		var l Line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		all = append(all, l)
	}
	return all
}

// intervals are a load of so many intervals of 100 ms, each with two reads of 1 ms and a write of 9 ms that failed once.
func intervals(n int) []measure.Interval {
	r := measure.NewRecorder(nil)
	for i := range n {
		read, write := measure.NewHistogram(), measure.NewHistogram()
		read.Record(time.Millisecond, 2)
		write.Record(9*time.Millisecond, 1)
		r.Interval(measure.Interval{
			From: time.Duration(i) * 100 * time.Millisecond, To: time.Duration(i+1) * 100 * time.Millisecond,
			Samples: []measure.Sample{{Class: "read", Operations: 2, Latency: read}, {Class: "write", Operations: 1, Errors: 1, Latency: write}},
			Offer:   measure.Offer{Scheduled: 5, OnTime: 3, Late: 1, Abandoned: 1},
		})
	}
	return r.Intervals()
}

// However many events there are, a second has one line; its load is what came since the line before.
func TestALineASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out memory
		log := NewLog(Run{Study: "s", Arms: []string{"a", "b"}}, &out)
		all := intervals(50)
		e := trial.Event{Phase: trial.PhaseMeasure, Trial: 3, Trials: 8, Block: 2, Arm: "b", Blocks: 1, Look: 6, Left: time.Minute, Soonest: 30 * time.Second}
		for i := range all {
			e.Load = all[:i+1]
			log.Take(e)
			pause := 100 * time.Millisecond
			if i == 0 {
				pause = 130 * time.Millisecond // so that no event comes just when a line is due
			}
			<-time.After(pause) // virtual
		}
		log.Close()
		lines := out.lines(t)
		if len(lines) < 5 || len(lines) > 7 {
			t.Fatalf("%d lines in 5 s", len(lines))
		}
		if lines[0].Run == nil || lines[0].Run.Study != "s" || lines[1].Run != nil {
			t.Errorf("the first lines are %+v and %+v", lines[0], lines[1])
		}
		operations, before := int64(0), 0.
		for i, l := range lines {
			if l.Load == nil {
				t.Fatalf("line %d has no load", i)
			}
			if l.Load.From != before {
				t.Errorf("line %d begins at %g, that before ended at %g", i, l.Load.From, before)
			}
			before, operations = l.Load.To, operations+l.Load.Operations
			if l.Trial != 3 || l.Trials != 8 || l.Block != 2 || l.Arm != "b" || l.Blocks != 1 || l.Look != 6 || l.Left != 60 || l.Soonest != 30 {
				t.Errorf("line %d is %+v", i, l)
			}
		}
		if operations != 150 {
			t.Errorf("%d operations in all lines, want 150", operations)
		}
		second := lines[2].Load
		if second.Rate != 30 || second.Errors != 10 || second.Late != 10 || second.Abandoned != 10 {
			t.Errorf("a second is %+v", second)
		}
		read, write := second.Classes["read"], second.Classes["write"]
		if read.Rate != 20 || write.Rate != 10 || write.Errors != 10 || read.P50 == nil || math.Abs(*read.P50-.001) > 1e-5 || read.P99 != nil || write.P50 != nil {
			t.Errorf("reads %+v, writes %+v: 20 operations carry a median and no p99, 10 none", read, write)
		}
	})
}

// A phase in which nothing is reported has a line every ten seconds, and no trial is lost or told twice.
func TestHeartbeatAndTrials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out memory
		log := NewLog(Run{}, &out)
		value, bad := 20000.5, math.NaN()
		log.Take(trial.Event{Phase: trial.PhaseJudged, Trial: 1, Block: 1, Arm: "a", Value: &value, Earlier: true})
		log.Take(trial.Event{Phase: trial.PhasePrepare, Trial: 3})
		<-time.After(45*time.Second + 500*time.Millisecond) // virtual
		log.Take(trial.Event{Phase: trial.PhaseJudged, Trial: 3, Note: strings.Repeat("ä", 5000)})
		log.Take(trial.Event{Phase: trial.PhaseJudged, Trial: 4, Value: &bad})
		log.Take(trial.Event{Phase: trial.PhaseEnd, Note: "decided"})
		log.Close()
		log.Take(trial.Event{Phase: trial.PhaseEnd, Note: "late"})
		log.Close()
		lines := out.lines(t)
		if len(lines) != 6 {
			t.Fatalf("%d lines: %s", len(lines), out.String())
		}
		var ended []int
		for _, l := range lines {
			for _, e := range l.Ended {
				ended = append(ended, e.Trial)
			}
		}
		if !slices.Equal(ended, []int{1, 3, 4}) || *lines[0].Ended[0].Value != value || lines[0].Phase != "prepare" || lines[0].Trial != 3 {
			t.Errorf("trials %v, first line %+v", ended, lines[0])
		}
		last := lines[5]
		if n := len([]rune(last.Ended[0].Void)); n != mostText || last.Ended[1].Value != nil || last.Phase != "end" || len(last.Notes) != 1 || last.Notes[0].Text != "decided" {
			t.Errorf("the last line is %+v", last)
		}
		if lines[4].InPhase < 40 || lines[4].Elapsed < 40 {
			t.Errorf("after 45 s: %+v", lines[4])
		}
	})
}

// More trials than a line holds come in the following lines.
func TestManyTrials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out memory
		log := NewLog(Run{}, &out)
		for n := range 2500 {
			log.Take(trial.Event{Phase: trial.PhaseJudged, Trial: n + 1})
		}
		log.Close()
		told := 0
		for _, l := range out.lines(t) {
			for _, e := range l.Ended {
				if told++; e.Trial != told {
					t.Fatalf("trial %d is told as number %d", e.Trial, told)
				}
			}
		}
		if told != 2500 {
			t.Errorf("%d trials are told", told)
		}
	})
}

// What could not be written is told once there is room, with the introduction of the run.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := memory{full: true}
		log := NewLog(Run{Study: "s"}, &out)
		log.Take(trial.Event{Phase: trial.PhaseJudged, Trial: 1, Arm: "a"})
		<-time.After(5 * time.Second) // virtual
		synctest.Wait()
		out.full = false
		log.Take(trial.Event{Phase: trial.PhasePrepare, Trial: 2, Note: "still here"})
		log.Close()
		lines := out.lines(t)
		if len(lines) != 1 || lines[0].Run == nil || len(lines[0].Ended) != 1 || len(lines[0].Notes) != 1 {
			t.Errorf("%s", out.String())
		}
	})
}

// The probes of a search, and trials, are loads that begin anew. Machines are told by name.
func TestLoadsAndMachines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out memory
		log := NewLog(Run{}, &out)
		all := intervals(20)
		at := func(n int, machines ...trial.MachineLoad) {
			log.Take(trial.Event{Phase: trial.PhaseMeasure, Trial: 1, Load: all[:n], Machines: machines,
				Counters: []trial.MachineCounters{{Machine: "n1", Shares: map[string]float64{"steal": .25}}, {Machine: "n2", Shares: map[string]float64{"steal": .5, "throttling": math.NaN()}}}})
			<-time.After(1050 * time.Millisecond) // virtual
		}
		at(20, trial.MachineLoad{Machine: "n1", Intervals: all[:20]}, trial.MachineLoad{Machine: "n2", Intervals: all[:19]})
		at(5, trial.MachineLoad{Machine: "n1", Intervals: all[:5]}, trial.MachineLoad{Machine: "n2", Intervals: all[:5]})
		at(6, trial.MachineLoad{Machine: "n1", Intervals: all[:6]}, trial.MachineLoad{Machine: "n2", Intervals: all[:5]})
		log.Take(trial.Event{Phase: trial.PhaseApply, Trial: 2})
		log.Close()
		lines := out.lines(t)
		if len(lines) != 4 {
			t.Fatal(out.String())
		}
		for i, want := range []int64{60, 15, 3} {
			if got := lines[i].Load.Operations; got != want {
				t.Errorf("line %d has %d operations, want %d", i, got, want)
			}
		}
		if m := lines[2].Machines; len(m) != 2 || m[0].Load.Operations != 3 || m[1].Load != nil || m[1].Counters["steal"] != .5 {
			t.Errorf("machines %+v", m)
		}
		if c := lines[0].Counters; c["steal"] != .5 || len(c) != 1 {
			t.Errorf("counters %v", c)
		}
		if lines[3].Load != nil || lines[3].Phase != "apply" {
			t.Errorf("the next trial has the load of the last one: %+v", lines[3])
		}
	})
}

// Every field of a line is in the table of docs/results.md, and no other.
func TestFieldsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| field | contents |")
	table, _, _ = strings.Cut(table, "\n\n")
	documented := map[string]bool{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) > 2 {
			for _, name := range strings.Split(cells[1], "`, `") {
				if name = strings.Trim(name, " `-"); name != "" {
					documented[name] = true
				}
			}
		}
	}
	var actual []string
	fields("", typeOf[Line](), func(name string) { actual = append(actual, name) })
	for _, name := range actual {
		if !documented[name] {
			t.Errorf("docs/results.md lacks %s", name)
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("docs/results.md has %s, which no line has", name)
	}
}

func TestFileIsResumed(t *testing.T) {
	for name, c := range map[string]struct {
		there string
		kept  int // lines of it that remain
	}{
		"none":           {"", 0},
		"whole":          {`{"format":"plimsoll-events","version":"1.7"}` + "\n" + `{"trial":1}` + "\n", 2},
		"torn":           {`{"format":"plimsoll-events","version":"1.0"}` + "\n" + `{"trial":1,"ph`, 2},
		"another format": {`{"format":"something"}` + "\n", 0},
		"later version":  {`{"format":"plimsoll-events","version":"2.0"}` + "\n", 0},
		"no JSON":        {"\x00\x00\x00\x00", 0},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.there != "" {
				if err := os.WriteFile(filepath.Join(dir, FileName), []byte(c.there), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			f := NewFile(dir, "v")
			for range 2 {
				if err := f.Append([]byte("{\"trial\":2}\n")); err != nil {
					t.Fatal(err)
				}
			}
			f.Close(false)
			text, err := os.ReadFile(filepath.Join(dir, FileName))
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			want := c.kept + 2
			if c.kept == 0 {
				want = 3 // its own first line
			}
			if len(lines) != want || !strings.Contains(lines[0], `"format":"plimsoll-events"`) || lines[len(lines)-1] != `{"trial":2}` || lines[len(lines)-2] != `{"trial":2}` {
				t.Errorf("%q", lines)
			}
			f = NewFile(dir, "v")
			f.Close(true)
			if _, err := os.Stat(filepath.Join(dir, FileName)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a run that ended leaves its file: %v", err)
			}
		})
	}
}

// A file that is a link, a folder, or cannot be written is an error that is told once.
func TestFileThatCannotBe(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"link":   func(path string) error { return os.Symlink("/dev/null", path) },
		"folder": func(path string) error { return os.Mkdir(path, 0o755) },
	} {
		dir := t.TempDir()
		if err := spoil(filepath.Join(dir, FileName)); err != nil {
			t.Fatal(err)
		}
		f := NewFile(dir, "v")
		for range 2 {
			if f.Append([]byte("{}\n")) == nil {
				t.Errorf("%s: a line was written", name)
			}
		}
		if first, second := f.Lost(), f.Lost(); first == nil || second != nil {
			t.Errorf("%s: the error is told never, or twice", name)
		}
		f.Close(false)
	}
	dir := t.TempDir()
	f := NewFile(filepath.Join(dir, "gone"), "v")
	if err := f.Append([]byte("{}\n")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is gone: %v", err)
	}
	f = NewFile(dir, "v")
	if err := f.Append([]byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := f.Append([]byte("{}\n")); err != nil {
		t.Errorf("a folder that was removed fails the log: %v", err)
	}
	f.Close(true)
	if err := f.Lost(); err != nil {
		t.Errorf("%v", err)
	}
}

// A full device makes gaps, and what follows can be read.
func TestFileOnAFullDevice(t *testing.T) {
	f := &File{name: "/dev/full"}
	if err := f.Append([]byte("{}\n")); err == nil {
		t.Error("a device is no regular file")
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	f = &File{file: full, size: 10, name: filepath.Join(t.TempDir(), "x")}
	if err := f.Append([]byte("{}\n")); err == nil || f.torn {
		t.Errorf("error %v, torn %t", err, f.torn)
	}
	f.Close(false)
}

func TestLongFilesGetFewerLines(t *testing.T) {
	for size, want := range map[int64]time.Duration{0: every, 1<<25 - 1: every, 1 << 25: 2 * every, 1 << 26: 4 * every, 1 << 60: 1024 * every} {
		if got := (&File{size: size}).Every(); got != want {
			t.Errorf("%d bytes: a line every %s, want %s", size, got, want)
		}
	}
}

// A stream begins with its format, and ends with its first error.
func TestStream(t *testing.T) {
	var out failing
	s := NewStream(&out, "v1")
	s.Note("round 1", "measure")
	out.err = errors.New("closed")
	s.Note("round 2", "measure")
	out.err = nil
	s.Note("round 3", "measure")
	if s.Err() == nil || strings.Count(out.String(), "\n") != 2 || !strings.HasPrefix(out.String(), `{"format":"plimsoll-events","version":"1.0","plimsoll":"v1","time":`) {
		t.Errorf("error %v after %s", s.Err(), out.String())
	}
}

type failing struct {
	bytes.Buffer
	err error
}

func (f *failing) Write(p []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return f.Buffer.Write(p)
}

// BenchmarkTake is what an event costs the load that reports it.
func BenchmarkTake(b *testing.B) {
	log := NewLog(Run{}, &memory{full: true})
	defer log.Close()
	all := intervals(1000)
	for i := 0; b.Loop(); i++ {
		log.Take(trial.Event{Phase: trial.PhaseMeasure, Trial: 1, Load: all[:1+i%1000]})
	}
}

// BenchmarkLine is what a line costs, with ten intervals of two classes.
func BenchmarkLine(b *testing.B) {
	all := intervals(10)
	for b.Loop() {
		f := fold{}
		f.take(trial.Event{Phase: trial.PhaseMeasure, Trial: 1, Load: all}, time.Now())
		p := f.cut()
		encoded(p.line(time.Now()))
	}
}
