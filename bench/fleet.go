package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/agent/fabric"
	"plimsoll/internal/agent/testnet"
)

const (
	fleetAgents = 50
	fleetIdle   = 30 * time.Second
	fleetPort   = ":4222"
)

// fleets is a lab with 50 agents in network namespaces of their own, all of them the built
// program: what they cost while they are idle, and how a study on all of them begins.
func fleets() (results []result, err error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("only root can make network namespaces")
	}
	program, dir, err := measured.Binary()
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err != nil {
		return nil, err
	}
	y, err := testnet.Open(fleetAgents)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, y.Close()) }()
	f := &agency{network: y, dir: dir, program: program}
	if err := f.start(); err != nil {
		return nil, err
	}
	idle, err := f.idle()
	if err != nil {
		return nil, err
	}
	busy, err := f.study()
	return append(idle, busy...), err
}

// agency is a lab and its agents.
type agency struct {
	network      *testnet.Network
	dir, program string
}

func (f *agency) path(parts ...string) string {
	return filepath.Join(append([]string{f.dir}, parts...)...)
}

func (f *agency) lab(args ...string) *exec.Cmd {
	c := f.network.Command(context.Background(), f.network.Lab(), append([]string{f.program}, args...)...)
	c.Dir = f.dir
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+f.path("state"))
	return c
}

// start lets the agents in and starts them.
func (f *agency) start() error {
	keys := make([]string, fleetAgents)
	for i := range keys {
		keys[i] = f.path(fmt.Sprint("key-", i))
		key, err := fabric.KeepKey(keys[i])
		if err == nil {
			err = fabric.Allow(f.path("lab", "agents"), key.Public())
		}
		if err != nil {
			return err
		}
	}
	printed, err := f.lab("agent", "show", "--listen", testnet.Address+fleetPort, "--state", f.path("lab"), "--wait", "1ms").CombinedOutput()
	found := regexp.MustCompile(`--lab (\S+) --key FILE --lab-key (\S+) --ca (\S+)`).FindStringSubmatch(string(printed))
	if err != nil || found == nil {
		return fmt.Errorf("start the lab: %w: %s", err, printed)
	}
	for i, key := range keys {
		name := fmt.Sprintf("agent-%02d", i)
		c := f.network.Command(context.Background(), f.network.Agent(i), f.program, "agent", "--lab", found[1], "--lab-key", found[2], "--ca", found[3],
			"--key", key, "--name", name, "--state", f.path("agents", name, "state"), "--scratch", f.path("agents", name, "scratch"))
		if err := c.Start(); err != nil {
			return err
		}
		go func() { _ = c.Wait() }() // it ends with the network
	}
	return nil
}

// cost is what a lab used up.
func cost(c *exec.Cmd, took time.Duration) (cores, megabytes float64) {
	used := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	if r, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		megabytes = float64(r.Maxrss) * 1024 / 1e6
	}
	return used.Seconds() / took.Seconds(), megabytes
}

// idle has the lab wait for one agent more than there are.
func (f *agency) idle() ([]result, error) {
	c := f.lab("agent", "show", "--listen", testnet.Address+fleetPort, "--state", f.path("lab"), "--agents", fmt.Sprint(fleetAgents+1), "--wait", fleetIdle.String(), "--json")
	began := time.Now()
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("show agents: %w", err)
	}
	cores, megabytes := cost(c, time.Since(began))
	var members []fabric.Member
	if err := json.Unmarshal(out, &members); err != nil {
		return nil, err
	}
	if len(members) != fleetAgents {
		return nil, fmt.Errorf("%d agents have joined, want %d", len(members), fleetAgents)
	}
	wrong := make([]float64, len(members)) // all clocks are the same one
	for i, m := range members {
		wrong[i] = m.Offset.Abs().Seconds()
	}
	return []result{
		{"50 agents in network namespaces: CPU of the lab while they join and renew", cores, "limit", 1, "cores"},
		{"the same: its memory at most", megabytes, "limit", 500, "MB"},
		{"the same: error of the clocks' offsets, at most", slices.Max(wrong) * 1e3, "limit", 10, "ms"},
	}, nil
}

const fleetStudy = `study: fleet
question: How well do 50 agents begin together?
platform: {fleet: {state: STATE, listen: "LISTEN", wait: 2m, agents: 50}}
machines: 50
workload:
  processor: {working_set: 64KiB, unit: 1KiB, think: 100ms}
measure: {settle: 1s, warmup: 500ms, window: 3s, longest: 5s, interval: 500ms, blocks: 2, retries: 4}
headline: [units]
`

// study runs loads on all agents at once.
func (f *agency) study() ([]result, error) {
	text := strings.NewReplacer("STATE", f.path("lab"), "LISTEN", testnet.Address+fleetPort).Replace(fleetStudy)
	if err := os.WriteFile(f.path("study.yaml"), []byte(text), 0o644); err != nil {
		return nil, err
	}
	c := f.lab("run", "study.yaml", "--out", "out", "--quiet")
	began := time.Now()
	said, failed := c.CombinedOutput() // a busy machine may make trials void: they began all the same
	cores, megabytes := cost(c, time.Since(began))
	late, err := f.late()
	if err != nil || len(late) == 0 {
		return nil, fmt.Errorf("no start was told: %w: %s", errors.Join(err, failed), said)
	}
	slices.Sort(late)
	return []result{
		{"the same, in a study on all of them: CPU of the lab", cores, "limit", 1, "cores"},
		{"the same: its memory at most", megabytes, "limit", 500, "MB"},
		{fmt.Sprintf("the same: start after the agreed instant, of %d starts, p50", len(late)), late[len(late)/2] * 1e3, "limit", 10, "ms"},
		{"the same: p99", late[len(late)*99/100] * 1e3, "limit", 10, "ms"},
	}, nil
}

// late is how long after the agreed instant each load began, in seconds.
func (f *agency) late() (all []float64, err error) {
	names, err := filepath.Glob(f.path("out", "trials", "*", "record.json"))
	for _, name := range names {
		var record struct {
			Parts []struct{ Values map[string]float64 }
		}
		text, failed := os.ReadFile(name)
		if failed == nil {
			failed = json.Unmarshal(text, &record)
		}
		err = errors.Join(err, failed)
		for _, p := range record.Parts {
			if v, told := p.Values["start.late"]; told {
				all = append(all, v)
			}
		}
	}
	return all, err
}
