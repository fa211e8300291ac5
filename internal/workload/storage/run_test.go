package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
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
	m := &player{fake: bench(), prints: text, ends: platform.Result{User: 300 * time.Millisecond, System: 200 * time.Millisecond}}
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

// lingerer is a machine on which fio prints that its time goes on, and never ends.
type lingerer struct {
	*fake
	until int // ms
}

func (l *lingerer) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	if c.Argv[0] == "nproc" {
		return prints("2\n"), nil
	}
	for at := 250; at <= l.until; at += 250 {
		n := min(at, 1000)
		fmt.Fprintf(c.Stdout, `{"jobs":[{"jobname":"d","read":{},"write":{"io_bytes":%d,"runtime":%d,"lat_ns":{"N":%d,"mean":5,"bins":{"5":%d}}}}]}`, 4096*n, at+100, n, n)
	}
	<-ctx.Done()
	return platform.Result{Exit: -1, Signal: "SIGKILL", User: time.Second}, fmt.Errorf("fio was ended: %w", context.Cause(ctx))
}

// An open loop of fio that does not end is ended, and counts up to its time.
func TestAnOpenLoopThatLingers(t *testing.T) {
	out := measure.NewRecorder(nil)
	d := made(t, parameter.Settings{"rate": "1000/s"})
	begin := time.Now()
	err := d.Run(t.Context(), env(&lingerer{bench(), 2000}), load.Stage{Length: time.Second, Interval: 250 * time.Millisecond}, out)
	if err != nil {
		t.Fatal(err)
	}
	intervals := out.Intervals()
	if len(intervals) != 3 || intervals[2].To != 850*time.Millisecond {
		t.Errorf("got %d intervals; the one that begins in time and ends 100 ms late must not count", len(intervals))
	}
	if took := time.Since(begin); took > 2*lingering {
		t.Errorf("took %v", took)
	}
	// That the study was cancelled is another matter.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Run(ctx, env(&lingerer{bench(), 500}), load.Stage{Length: time.Second, Interval: 250 * time.Millisecond}, out); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCPUOfTheGenerator(t *testing.T) {
	// Closed: what fio says of its workers. Open: all that fio used, 0.5 s in 1.001 s
	// of two CPUs.
	closed, err := play(t, string(recorded(t)), 99, parameter.Settings{"disks": "2", "read": "70%"})
	if err != nil {
		t.Fatal(err)
	}
	open, err := play(t, string(recorded(t)), 99, parameter.Settings{"disks": "2", "read": "70%", "rate": "1000/s"})
	if err != nil {
		t.Fatal(err)
	}
	a, b := closed.Values()["generator.cpu"], open.Values()["generator.cpu"]
	if !(a > 0 && a < .2) || b < .249 || b > .251 {
		t.Errorf("%g closed, %g open", a, b)
	}
}

// BenchmarkDocument is the cost of one interval: fio prints about as much in each,
// and the lab may use 1 % of a core, 2.5 ms of each 250 ms.
func BenchmarkDocument(b *testing.B) {
	text := recorded(b)
	b.SetBytes(int64(len(text)) / 5)
	for range b.N {
		if _, _, err := replay(text, 4096); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/5/1e6, "ms/document")
}
