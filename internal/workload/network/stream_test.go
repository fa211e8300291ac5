package network

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service/reflector"
)

const little = 240 * time.Millisecond

// brief is the length of loads without a rate, which take all CPUs.
var brief = loadtest.Short(little)

func TestTCPStream(t *testing.T) {
	at, _ := reflecting(t, reflector.Options{})
	loadtest.Calm(t, func() error { return streamed(t, at) })
}

// streamed is one load. Its error is of what both ends measure, each by its own clock.
func streamed(t *testing.T, at load.Endpoint) error {
	t.Helper()
	r := run(t, at, parameter.Settings{"test": "tcp_stream", "flows": "3", "threads": "2", "message": "64KiB", "socket_buffer": "256KiB", "remote_buffer": "128KiB"}, brief)
	if n := len(r.out.Intervals()); n != 4 {
		t.Errorf("%d intervals of 4", n)
	}
	if r.sum.Operations < 20 || r.sum.Errors != 0 {
		t.Errorf("counted %+v", r.sum)
	}
	seen := r.out.Observed()
	for name, want := range map[string]string{"network.flows": "3", "network.threads": "2", "network.socket_buffer": "256KiB", "network.remote_buffer": "128KiB", "network.nodelay": "true"} {
		if seen[name] != want {
			t.Errorf("%s is seen as %q, want %q", name, seen[name], want)
		}
	}
	for _, name := range []string{"server.cpu", "server.cpu_per_operation", "client.cpu", "client.cpu_per_operation", "sent", "received"} {
		if !(r.values[name] > 0) {
			t.Errorf("%s is %g", name, r.values[name])
		}
	}
	if share := r.values["received"] / r.values["sent"]; share < .5 || share > 1.05 {
		return fmt.Errorf("%.3g of what was sent was received", share)
	}
	return nil
}

// Every datagram is sent, refused or never due, and every one that is sent is received
// or lost, in whatever way they go.
func TestUDPStreamAccountsForEachDatagram(t *testing.T) {
	at, _ := reflecting(t, reflector.Options{})
	for _, sending := range []string{"auto", "single", "batch", "segmented"} {
		for _, rate := range []string{"", "20000/s"} {
			s := parameter.Settings{"test": "udp_stream", "message": "256B", "flows": "2", "threads": "2", "sending": sending, "remote_buffer": "1MiB"}
			length := brief
			if rate != "" {
				s["rate"], s["tick"], length = rate, "1ms", little
			}
			if rate != "" && sending != "auto" && !loadtest.Whole() {
				continue // what paces them is the same
			}
			t.Run(sending+rate, func(t *testing.T) {
				loadtest.Calm(t, func() error { return accounted(t, run(t, at, s, length), rate != "") })
			})
		}
	}
}

// accounted checks the counts of a stream, and returns an error for rates, which a machine that stops
// near the end of an interval changes.
func accounted(t *testing.T, r ran, paced bool) error {
	t.Helper()
	if c := r.checks["accounting"]; c.State != measure.Pass || !strings.Contains(c.Detail, "datagrams sent =") {
		t.Errorf("%s: %s", c.State, c.Detail)
	}
	if r.offer.Scheduled != r.offer.OnTime+r.offer.Late+r.offer.Abandoned {
		t.Errorf("offered %+v", r.offer)
	}
	if n := float64(r.offer.Scheduled); paced && math.Abs(n/(20000*little.Seconds())-1) > .1 {
		return fmt.Errorf("%g were due in %s", n, little)
	}
	if r.sum.Operations < int64(4000*brief.Seconds()) || r.values["received"] == 0 || r.values["sent"] < r.values["received"]*.9 {
		return fmt.Errorf("counted %+v, %v", r.sum, r.values)
	}
	return nil
}

// A sender without a rate outruns the receiver: what is lost is measured, and no failure.
func TestLossWithoutARateIsNoFailure(t *testing.T) {
	at, _ := reflecting(t, reflector.Options{Drop: .2, Seed: 9})
	r := run(t, at, parameter.Settings{"test": "udp_stream", "message": "64B"}, brief)
	if r.sum.Errors != 0 || r.values["loss"] < .15 {
		t.Errorf("%d errors, loss %g, with 20 %% dropped", r.sum.Errors, r.values["loss"])
	}
}

// What the reflector throws away is lost, by the receiver's count, and counts as an error.
func TestLossIsSeen(t *testing.T) {
	at, _ := reflecting(t, reflector.Options{Drop: .2, Seed: 9})
	r := run(t, at, parameter.Settings{"test": "udp_stream", "message": "64B", "rate": "10000/s", "arrivals": "poisson", "tick": "1ms", "remote_buffer": "1MiB"}, little)
	n := 10000 * little.Seconds()
	if got := r.values["loss"]; math.Abs(got-.2) > 5*math.Sqrt(.2*.8/n) {
		t.Errorf("loss is %g, with 20 %% dropped", got)
	}
	if share := float64(r.sum.Errors) / float64(r.sum.Errors+r.sum.Operations); math.Abs(share-.2) > .05 {
		t.Errorf("%.3g of all are errors", share)
	}
	if c := r.checks["accounting"]; c.State != measure.Pass || !strings.Contains(c.Detail, "dropped") {
		t.Errorf("%s: %s", c.State, c.Detail)
	}
}

// A receive buffer for a datagram or two overflows, and the receiver's system says so.
func TestOverflowIsSeen(t *testing.T) {
	at, _ := reflecting(t, reflector.Options{})
	r := run(t, at, parameter.Settings{"test": "udp_stream", "message": "1400B", "remote_buffer": "2KiB", "sending": "batch"}, brief)
	if r.values["overflow"] <= 0 || r.values["loss"] < r.values["overflow"]*.999 {
		t.Errorf("loss %g, overflow %g", r.values["loss"], r.values["overflow"])
	}
	if c := r.checks["accounting"]; c.State != measure.Pass {
		t.Errorf("%s: %s", c.State, c.Detail)
	}
}

// A system that refuses a message does not lose it in silence: here, each is longer than
// an interface without fragments takes.
func TestRefusedMessagesAreCounted(t *testing.T) {
	d := &sender{stream: &stream{load: &network{Parameters: defaults()}}, way: sendSingle, data: make([]byte, 64)}
	d.stream.load.Message = 64
	f := &flow{fd: -1}
	if n := d.give(f, 5); n != 1 || d.page.failed != 1 || f.next != 0 || d.page.sent != 0 {
		t.Errorf("gave %d, counted %+v, next number %d", n, d.page, f.next)
	}
	if d.stream.senders = []*sender{d}; !strings.Contains(d.stream.refusal(), "bad file descriptor") {
		t.Errorf("it says %q", d.stream.refusal())
	}
}

// A reflector that dies ends the load at once, with a word about it.
func TestADyingReflectorEndsAStream(t *testing.T) {
	for _, test := range []string{"tcp_stream", "udp_stream"} {
		at, kill := reflecting(t, reflector.Options{})
		out := measure.NewRecorder(func(*measure.Recorder) bool { kill(); return false })
		start := time.Now()
		stage := short(time.Minute)
		stage.Interval = loadtest.Short(100 * time.Millisecond)
		err := made(t, parameter.Settings{"test": test}).Run(t.Context(), to(at), stage, out)
		if err == nil || !strings.Contains(err.Error(), "reflector") && !strings.Contains(err.Error(), "broke") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v", test, err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: took %s to notice", test, took)
		}
	}
}

func TestAStreamEndsWhenToldTo(t *testing.T) {
	at, _ := reflecting(t, reflector.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	out := measure.NewRecorder(func(*measure.Recorder) bool { cancel(); return false })
	stage := short(time.Hour)
	stage.Interval = loadtest.Short(50 * time.Millisecond)
	if err := made(t, parameter.Settings{"test": "udp_stream"}).Run(ctx, to(at), stage, out); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	enough := measure.NewRecorder(func(r *measure.Recorder) bool { return len(r.Intervals()) == 2 })
	if err := made(t, parameter.Settings{"test": "tcp_stream"}).Run(t.Context(), to(at), stage, enough); err != nil || len(enough.Intervals()) != 2 {
		t.Errorf("got %v after %d intervals", err, len(enough.Intervals()))
	}
}

// A rate that changes is kept as it changes.
func TestAShapeIsKept(t *testing.T) {
	at, _ := reflecting(t, reflector.Options{})
	loadtest.Calm(t, func() error {
		r := run(t, at, parameter.Settings{"test": "udp_stream", "rate": "4000/s", "shape": "ramp to 3 over 240ms", "tick": "1ms"}, little)
		intervals := r.out.Intervals()
		if n := r.offer.Scheduled; math.Abs(float64(n)/(8000*little.Seconds())-1) > .1 {
			return fmt.Errorf("%d were due in a ramp from 4000/s to 12000/s over %s", n, little)
		}
		if first, last := intervals[0].Samples[0].Operations, intervals[3].Samples[0].Operations; last < first*3/2 {
			return fmt.Errorf("%d in the first quarter, %d in the last", first, last)
		}
		return nil
	})
}
