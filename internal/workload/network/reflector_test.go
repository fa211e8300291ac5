package network

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/load/peer"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service/reflector"
	"plimsoll/internal/workload"
)

// driver is the argument that makes this program a load.
const driver = "drive"

// TestMain is also the reflector, and a load for a comparison, each of which is a
// process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == driver {
		if err := drive(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == reflector.Command {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		err := reflector.Serve(ctx, os.Stdin, os.Stdout)
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
		os.Exit(0)
	}
	loadtest.Parallel(4)
	os.Exit(m.Run())
}

// reflecting starts a reflector, by way of another program where one is given. The
// function ends it at once.
func reflecting(t *testing.T, o reflector.Options, by ...string) (at load.Endpoint, kill func()) {
	t.Helper()
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	argv := append(by, os.Args[0], reflector.Command)
	c := exec.Command(argv[0], argv[1:]...)
	c.Stdin = bytes.NewReader(o.Line())
	c.Stderr = os.Stderr
	said, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return load.Endpoint{Network: "tcp", Address: strings.TrimSpace(strings.TrimPrefix(line, "reflector listens at "))}, func() { c.Process.Kill() }
}

// to is an environment whose service is a reflector.
func to(at load.Endpoint) workload.Env {
	return workload.Env{Target: func(protocol string) (load.Endpoint, error) {
		if protocol != peer.Protocol {
			return load.Endpoint{}, fmt.Errorf("a reflector does not speak %s", protocol)
		}
		return at, nil
	}}
}

func made(t *testing.T, s parameter.Settings) workload.Load {
	t.Helper()
	l, err := Kind().New(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// stage is short, and in intervals of a quarter.
func short(length time.Duration) load.Stage {
	return load.Stage{Length: length, Interval: length / 4, Seed: 1}
}

// ran is what a load came to.
type ran struct {
	out    *measure.Recorder
	values map[string]float64
	checks map[string]measure.Check
	sum    measure.Sample
	offer  measure.Offer
}

func run(t *testing.T, at load.Endpoint, s parameter.Settings, length time.Duration) ran {
	t.Helper()
	r := ran{out: measure.NewRecorder(nil), checks: map[string]measure.Check{}}
	if err := made(t, s).Run(t.Context(), to(at), short(length), r.out); err != nil {
		t.Fatal(err)
	}
	r.values = r.out.Values()
	for _, c := range r.out.Checks() {
		r.checks[c.Name] = c
	}
	r.sum, _ = operations(r.out)
	for _, in := range r.out.Intervals() {
		r.offer.Scheduled += in.Offer.Scheduled
		r.offer.OnTime += in.Offer.OnTime
		r.offer.Late += in.Offer.Late
		r.offer.Abandoned += in.Offer.Abandoned
	}
	return r
}
