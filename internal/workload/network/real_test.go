package network

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/peer"
	"plimsoll/internal/measure"
	"plimsoll/internal/service/reflector"
)

// TestAgainstC holds TCP request/response against a ping-pong in C with the same
// reflector, in turns, on the same placement: the load shares the CPU of its reflector, or
// has one of its own. It times, and so it is no part of what must pass everywhere.
func TestAgainstC(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" || os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_REAL=1 and PLIMSOLL_DEEP=1 to compare with a ping-pong in C")
	}
	for _, tool := range []string{"cc", "taskset"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("needs %s", tool)
		}
	}
	program := filepath.Join(t.TempDir(), "pingpong")
	if out, err := exec.Command("cc", "-O2", "-o", program, "testdata/pingpong.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const rounds, length = 4, 2 * time.Second
	for _, cpu := range []string{"0", "1"} {
		at, _ := reflecting(t, reflector.Options{Threads: 1}, "taskset", "-c", "1")
		var rate, cost [2]float64 // of C and of plimsoll
		for range rounds {
			r, c := inC(t, at, program, cpu, length)
			rate[0], cost[0] = rate[0]+r/rounds, cost[0]+c/rounds
			r, c = here(t, at, cpu, length)
			rate[1], cost[1] = rate[1]+r/rounds, cost[1]+c/rounds
		}
		t.Logf("load on CPU %s, reflector on CPU 1: C %.0f/s at %.2f us CPU, plimsoll %.0f/s at %.2f us: ratios %.3f and %.3f",
			cpu, rate[0], 1e6*cost[0], rate[1], 1e6*cost[1], rate[1]/rate[0], cost[1]/cost[0])
		if rate[1] < .95*rate[0] {
			t.Errorf("load on CPU %s: %.0f/s, in C %.0f/s", cpu, rate[1], rate[0])
		}
		if cost[1] > 1.05*cost[0] {
			t.Errorf("load on CPU %s: %.2f us of CPU for each, in C %.2f us", cpu, 1e6*cost[1], 1e6*cost[0])
		}
	}
}

// inC runs the ping-pong in C.
func inC(t *testing.T, at load.Endpoint, program, cpu string, length time.Duration) (rate, cost float64) {
	t.Helper()
	conn, err := net.Dial(at.Network, at.Address)
	if err != nil {
		t.Fatal(err)
	}
	s, err := peer.Greet(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ready, err := s.Prepare(t.Context(), peer.Test{Mode: peer.Echo, Network: "tcp", Flows: 1, Request: 1, Response: 1, NoDelay: true})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("taskset", "-c", cpu, program, fmt.Sprint(ready.Port), fmt.Sprint(length.Seconds())).Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(out), &rate, &cost); err != nil {
		t.Fatal(err)
	}
	return rate, cost
}

// here runs the same load of plimsoll, in a process of its own.
func here(t *testing.T, at load.Endpoint, cpu string, length time.Duration) (rate, cost float64) {
	t.Helper()
	out, err := exec.Command("taskset", "-c", cpu, os.Args[0], driver, at.Address, length.String()).Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(out), &rate, &cost); err != nil {
		t.Fatal(err)
	}
	return rate, cost
}

// drive is the process of here.
func drive(address, length string) error {
	l, err := Kind().New(nil)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(length)
	if err != nil {
		return err
	}
	out := measure.NewRecorder(nil)
	if err := l.Run(context.Background(), to(load.Endpoint{Network: "tcp", Address: address}), short(d), out); err != nil {
		return err
	}
	sum, ran := operations(out)
	fmt.Println(float64(sum.Operations)/ran.Seconds(), out.Values()["client.cpu_per_operation"])
	return nil
}
