package tally

import (
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

const second = time.Second

// kept runs what two threads count through a book and returns what the recorder got.
func kept(t *testing.T, open bool, count func(thread int, s *Sheet) (underWay int)) *measure.Recorder {
	t.Helper()
	job := load.Job{Stage: load.Stage{Length: 3 * second, Interval: second}, Classes: []string{"read", "write"}, Tick: time.Millisecond}
	if open {
		job.Arrivals = load.Arrivals{Rate: 100}
	}
	out := measure.NewRecorder(nil)
	b := New(job, 2, out)
	for i := range 2 {
		s := b.Sheet()
		go func() { s.Close(count(i, s)) }()
	}
	if err := b.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out
}

func state(t *testing.T, out *measure.Recorder, name string) measure.State {
	t.Helper()
	for _, c := range out.Checks() {
		if c.Name == name {
			return c.State
		}
	}
	t.Fatalf("there is no check %s", name)
	return ""
}

// fine is ten operations in each interval: eight on time, of which one fails and one
// times out, one late, one abandoned.
func fine(_ int, s *Sheet) int {
	for k := range 3 {
		at := time.Duration(k) * second
		s.Look(at, at)
		for i := range 8 {
			s.Start(at, at+time.Microsecond, false)
			switch i {
			case 0:
				s.Fail(0)
			case 1:
				s.TimeOut(1)
			default:
				s.Done(Operation{Class: i % 2, Due: at, Started: at + time.Microsecond, Bytes: 5}, at+3*time.Millisecond)
			}
		}
		s.Start(at, at+10*time.Millisecond, true)
		s.Done(Operation{Due: at, Started: at + 10*time.Millisecond, Bytes: 5}, at+12*time.Millisecond)
		s.Abandon(true)
	}
	return 0
}

func TestThreadsAddUp(t *testing.T) {
	out := kept(t, true, fine)
	if n := len(out.Intervals()); n != 3 {
		t.Fatalf("%d intervals", n)
	}
	for _, in := range out.Intervals() {
		if o := in.Offer; o.Scheduled != 20 || o.OnTime != 16 || o.Late != 2 || o.Abandoned != 2 {
			t.Errorf("offer %+v", o)
		}
		read, write := in.Samples[0], in.Samples[1]
		if read.Operations != 8 || write.Operations != 6 || read.Errors != 2 || read.TimedOut != 0 || write.Errors != 2 || write.TimedOut != 2 || read.Bytes != 40 {
			t.Errorf("read %+v, write %+v", read, write)
		}
		if h := in.Latency("read"); h.Count() != 8 || h.Max() < 12*time.Millisecond {
			t.Errorf("response times of reads: %s", h)
		}
	}
	if got := state(t, out, "accounting"); got != measure.Pass {
		t.Errorf("accounts that balance: %s", got)
	}
	if got := state(t, out, "generator"); got != measure.Pass {
		t.Errorf("what waited for a slot is not the generator's doing: %s", got)
	}
}

// Each of these is a mistake that a loop could make.
func TestMistakesOfALoopAreFound(t *testing.T) {
	for name, count := range map[string]func(int, *Sheet) int{
		"an operation ends twice": func(i int, s *Sheet) int { fine(i, s); s.Fail(0); return 0 },
		"an operation is lost":    func(i int, s *Sheet) int { fine(i, s); s.Start(0, 0, false); return 0 },
		"one under way has ended": func(i int, s *Sheet) int { fine(i, s); return 1 },
	} {
		if got := state(t, kept(t, true, count), "accounting"); got != measure.Fail {
			t.Errorf("%s, open: %s", name, got)
		}
		if got := state(t, kept(t, false, count), "accounting"); got != measure.Fail {
			t.Errorf("%s, closed: %s", name, got)
		}
	}
}

func TestAGeneratorThatIsLateByItsOwnDoing(t *testing.T) {
	late := func(_ int, s *Sheet) int {
		for i := range 100 {
			lag := time.Microsecond
			if i < 5 {
				lag = 5 * time.Millisecond
			}
			s.Start(0, lag, false)
			s.Done(Operation{Started: lag}, lag+time.Millisecond)
		}
		return 0
	}
	if got := state(t, kept(t, true, late), "generator"); got != measure.Fail {
		t.Errorf("5 %% late with slots free: %s", got)
	}
	lost := func(i int, s *Sheet) int { fine(i, s); s.Abandon(false); return 0 }
	if got := state(t, kept(t, true, lost), "generator"); got != measure.Fail {
		t.Errorf("operations abandoned with slots free: %s", got)
	}
}
