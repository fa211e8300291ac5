package storage

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload/storage/fio"
)

// player is a machine on which fio prints what was recorded of it.
type player struct {
	*fake
	prints string
	ends   platform.Result
}

func (p *player) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	switch {
	case c.Argv[0] == "nproc":
		return prints("2\n"), nil
	case c.Argv[0] != "fio":
		return p.fake.Run(ctx, c)
	}
	r := p.ends
	for len(p.prints) > 0 {
		n := min(4096, len(p.prints))
		if _, err := c.Stdout.Write([]byte(p.prints[:n])); err != nil {
			return r, err
		}
		p.prints = p.prints[n:]
	}
	select {
	case <-c.Stop:
		r.Exit = 128
	default:
	}
	return r, nil
}

func play(t *testing.T, text string, enough int, s parameter.Settings) (*measure.Recorder, error) {
	t.Helper()
	out := measure.NewRecorder(func(r *measure.Recorder) bool { return len(r.Intervals()) >= enough })
	m := &player{fake: bench(), prints: text}
	return out, made(t, s).Run(t.Context(), env(m), load.Stage{Length: time.Second, Interval: 250 * time.Millisecond, Seed: 1}, out)
}

func TestARunEndsWhenThereIsEnough(t *testing.T) {
	for enough, want := range map[int]int{2: 2, 5: 5, 99: 5} {
		out, err := play(t, string(recorded(t)), enough, parameter.Settings{"disks": "2", "read": "70%"})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(out.Intervals()); n != want {
			t.Errorf("%d intervals, want %d", n, want)
		}
		// What the whole load says is there all the same.
		if out.Observed()["storage.read"] != "70%" || out.Observed()["storage.disks"] != "2" {
			t.Errorf("observed %v", out.Observed())
		}
	}
}

// A message in the midst of a document costs its interval, and no count.
func TestAGarbledDocumentIsPassedOver(t *testing.T) {
	text := string(recorded(t))
	third := strings.Index(text, `"jobs"`) // of the first document; then of the second
	third += strings.Index(text[third+10:], `"jobs"`) + 10
	garbled := text[:third] + "fio: terminating on signal 2\n" + text[third:]
	whole, err := play(t, text, 99, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := play(t, garbled, 99, nil)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(r *measure.Recorder) (n int64) {
		for _, in := range r.Intervals() {
			for _, s := range in.Samples {
				n += s.Operations
			}
		}
		return n
	}
	if a, b := len(whole.Intervals()), len(out.Intervals()); b != a-1 || sum(whole) != sum(out) {
		t.Errorf("%d intervals with %d operations, without the message %d with %d", b, sum(out), a, sum(whole))
	}
	if _, err := play(t, `{"jobs": [} }`, 99, nil); err == nil {
		t.Error("a load that printed nothing readable passed")
	}
}

func TestCPUOfTheGenerator(t *testing.T) {
	out, err := play(t, string(recorded(t)), 99, parameter.Settings{"disks": "2", "read": "70%"})
	if err != nil {
		t.Fatal(err)
	}
	if cpu := out.Values()["generator.cpu"]; !(cpu > 0 && cpu < .2) {
		t.Errorf("got %g", cpu)
	}
}

// The recording has 1001 operations in 1001 ms, of about 90 microseconds each.
func TestAnOpenLoopIsHeldAgainstWhatItOffers(t *testing.T) {
	for _, c := range []struct {
		rate            string
		offered, intime measure.State
	}{{"1000/s", measure.Pass, measure.Pass}, {"1100/s", measure.Pass, measure.Pass}, {"2000/s", measure.Pass, measure.Fail}, {"500/s", measure.Fail, measure.Pass}} {
		out, err := play(t, string(recorded(t)), 99, parameter.Settings{"disks": "2", "read": "70%", "rate": c.rate})
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Checks(); len(got) != 2 || got[0].State != c.offered || got[1].State != c.intime || got[1].Name != "generator" {
			t.Errorf("%s: %+v", c.rate, got)
		}
		// fio's times are service times.
		last := out.Intervals()[len(out.Intervals())-1]
		s, err := measure.Summarise(out.Intervals(), measure.Window{End: last.To.Seconds()}, "iops")
		if err != nil || !(s.Values["service.mean"] > 20e-6 && s.Values["mean"] > s.Values["service.mean"]) {
			t.Errorf("%s: response time %g s, service time %g s, %v", c.rate, s.Values["mean"], s.Values["service.mean"], err)
		}
	}
	// 100 workers, each with 10/s: busy for 5 % of the time at 5 ms, 30 % at 30 ms.
	d := made(t, parameter.Settings{"rate": "1000/s", "depth": "200"})
	for mean, want := range map[time.Duration]measure.State{0: measure.Pass, 5: measure.Pass, 30: measure.Fail} {
		o := &offer{operations: 10_000, service: 10_000 * mean * time.Millisecond, in: 10 * time.Second}
		if got := d.pattern.kept(o); got[0].State != measure.Pass || got[1].State != want {
			t.Errorf("%d ms: %+v", mean, got)
		}
	}
	if got := d.pattern.kept(new(offer)); got[0].State != measure.Unknown || got[1].State != measure.Unknown {
		t.Errorf("a load without intervals: %+v", got)
	}
}

// What comes after its time is no part of a load that does not end.
func TestALoadThatDoesNotEnd(t *testing.T) {
	text := ""
	for at := 250; at <= 2000; at += 250 {
		n := min(at, 1000)
		text += fmt.Sprintf(`{"jobs":[{"jobname":"d","read":{},"write":{"io_bytes":%d,"runtime":%d,"lat_ns":{"N":%d,"mean":5,"bins":{"5":%d}}}}]}`, 4096*n, at, n, n)
	}
	out, err := play(t, text, 99, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(out.Intervals()); n != 4 {
		t.Errorf("%d intervals of 250 ms in a load of 1 s", n)
	}
}

func recorded(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("fio/testdata/mixed.txt")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// read reads all that fio printed.
func read(t *testing.T, text []byte) *fio.Series {
	t.Helper()
	s := new(fio.Series)
	split := &fio.Splitter{Each: func(object []byte) error {
		_, _, err := s.Next(object)
		return err
	}}
	if _, err := split.Write(text); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestARecordingIsReadBack(t *testing.T) {
	s := read(t, recorded(t))
	d := made(t, parameter.Settings{"read": "70%", "disks": "2"})
	out := measure.NewRecorder(nil)
	if err := d.conclude(s, 2, platform.Result{}, out); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"storage.threads": "1", "storage.depth": "1", "storage.direct": "true", "storage.block": "4KiB", "storage.engine": "auto", "storage.read": "70%", "storage.random": "100%"} {
		if got := out.Observed()[name]; got != want {
			t.Errorf("%s is read back as %q, want %q", name, got, want)
		}
	}
	if cpu := out.Values()["generator.cpu"]; !(cpu > 0 && cpu < 1) {
		t.Errorf("fio kept %g of its CPUs busy", cpu)
	}
	// What fio did otherwise than asked is not read back as asked.
	other := made(t, parameter.Settings{"read": "30%", "block": "8KiB", "engine": "libaio", "depth": "4", "direct": "false"})
	got := other.pattern.seen(&s.Last)
	for name, want := range map[string]string{"read": "", "block": "", "engine": "", "depth": "1", "direct": "true"} {
		if got[name] != want {
			t.Errorf("%s of another load is read back as %q, want %q", name, got[name], want)
		}
	}
}
