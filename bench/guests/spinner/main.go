// Command spinner has groups of threads spin, each group a process as a VM is one, under each policy for the threads of cores in
// turn. It prints a Row as a line of JSON for each policy, load and turn. It runs where cores have two threads and the kernel schedules
// cores: on such a host, or in a guest.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"plimsoll/internal/guest/coresched"
)

func main() {
	do := measure
	if len(os.Args) > 1 {
		if own := map[string]func([]string) error{"work": work, "hold": hold}[os.Args[1]]; own != nil {
			do = own
			os.Args = os.Args[1:]
		}
	}
	if err := do(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "spinner:", err)
		os.Exit(1)
	}
}

// plan is what to measure.
type plan struct {
	groups, threads, turns int
	window                 time.Duration
	below                  int // the other load, in percent of what saturated CPUs do by default
}

// period is how often a thread has work to do below saturation.
const period = 20 * time.Millisecond

// measure prints a row for each policy, load and turn.
func measure(args []string) (err error) {
	var p plan
	f := flag.NewFlagSet("spinner", flag.ExitOnError)
	f.IntVar(&p.groups, "groups", 4, "groups, each a process")
	f.IntVar(&p.threads, "threads", 2, "threads of a group")
	f.IntVar(&p.turns, "turns", 5, "turns of all policies")
	f.IntVar(&p.below, "below", 50, "load below saturation, in percent")
	f.DurationVar(&p.window, "window", 3*time.Second, "time for each policy and load in a turn")
	f.Parse(args) //nolint:errcheck // it exits
	h, err := coresched.ThisHost()
	if err != nil {
		return err
	}
	for _, policy := range coresched.Policies() {
		if err := policy.Possible(h); err != nil {
			return err
		}
	}
	restore, err := coresched.Account()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, restore()) }()
	end, err := keep()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	r := runner{plan: p, host: h}
	first, err := r.run(coresched.Default, 0)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	policies := coresched.Policies()
	for turn := range p.turns {
		for i := range policies {
			for _, load := range []int{100, p.below} {
				rate := 0.0
				if load < 100 {
					rate = float64(first.Work) / p.window.Seconds() / float64(p.groups*p.threads) * float64(load) / 100
				}
				row, err := r.run(policies[(i+turn)%len(policies)], rate)
				if err != nil {
					return err
				}
				row.Turn, row.Load = turn, load
				if err := out.Encode(row); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// keep starts a process that has a cookie until end. With the first cookie and after the last one the kernel patches its scheduler, which
// crashes guests that QEMU interprets if it happens often.
func keep() (end func() error, err error) {
	g, err := start("hold")
	if err != nil {
		return nil, err
	}
	return g.end, coresched.OneGuest.Apply(g.cmd.Process.Pid)
}

// hold waits for the end of its input.
func hold([]string) error {
	fmt.Scanln() //nolint:errcheck // its end is what it waits for
	return nil
}
