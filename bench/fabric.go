package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/agent/fabric"
	"plimsoll/internal/agent/fabric/hub"
)

// crowd is the argument that makes this program a thousand agents.
const crowd = "fabric-agents"

const (
	crowdSize   = 1000
	crowdStarts = 5
	crowdIdle   = 15 * time.Second
)

// fabrics is what a lab with a thousand agents costs, and how well they start
// together: agents in one process, whose clocks are up to five seconds off, the
// lab with its NATS server in another.
func fabrics() (results []result, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, crowd)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close(), cmd.Wait()) }()
	d := json.NewDecoder(out)
	var keys []string
	if err := d.Decode(&keys); err != nil {
		return nil, fmt.Errorf("start a thousand agents: %w", err)
	}
	clock := fabric.SystemClock()
	l, h, err := crowdLab(keys, clock)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	defer l.Close()
	begin := time.Now()
	fmt.Fprintln(in, h.URL())
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if _, err := l.Await(ctx, nil, crowdSize); err != nil {
		return nil, err
	}
	joined := time.Since(begin)
	cores, err := idleCores()
	if err != nil {
		return nil, err
	}
	skews, err := startCrowd(l, clock, d)
	if err != nil {
		return nil, err
	}
	slices.Sort(skews)
	rss, err := measured.Resident("self", "VmRSS")
	return []result{
		{"1,000 agents: all have joined", joined.Seconds(), "limit", 30, "s"},
		{"the same: CPU of the lab and its server while they renew", cores, "limit", 1, "cores"},
		{"the same: memory of the lab's process", rss / 1e6, "limit", 500, "MB"},
		{"the same: start after the agreed instant, p50", skews[len(skews)/2] * 1e3, "limit", 10, "ms"},
		{"the same: p99", skews[len(skews)*99/100] * 1e3, "limit", 10, "ms"},
	}, err
}

// startCrowd has all agents start together some times, over a stream to each, and
// returns how long after the instant each did.
func startCrowd(l *fabric.Lab, clock fabric.Clock, d *json.Decoder) (skews []float64, err error) {
	members := l.Members()
	streams := make([]*fabric.Stream, len(members))
	for i, m := range members {
		if !m.Measured {
			return nil, fmt.Errorf("the clock of agent %s is not known", m.Name)
		}
		if streams[i], err = l.Dial(m.ID); err != nil {
			return nil, err
		}
		defer streams[i].Close() //nolint:errcheck // the agents are about to end
		if _, err := fmt.Fprintln(streams[i], 0, 0); err != nil {
			return nil, err
		}
	}
	for range crowdStarts {
		at := clock.Now().Add(2 * time.Second)
		for i, m := range members {
			if _, err := fmt.Fprintln(streams[i], at.UnixNano(), at.Add(-m.Offset).UnixNano()); err != nil {
				return nil, err
			}
		}
		var of []float64
		if err := d.Decode(&of); err != nil {
			return nil, err
		}
		skews = append(skews, of...)
	}
	return skews, nil
}

func crowdLab(keys []string, clock fabric.Clock) (*fabric.Lab, *hub.Hub, error) {
	key, err := fabric.NewKey()
	if err != nil {
		return nil, nil, err
	}
	h, err := hub.Start(hub.Options{Listen: "127.0.0.1:0", Lab: key.Public(), Agents: keys})
	if err != nil {
		return nil, nil, err
	}
	l, err := fabric.OpenLab(fabric.LabOptions{Endpoint: fabric.Endpoint{Key: key, InProcess: h}, Agents: keys, Clock: clock})
	return l, h, err
}

// idleCores is the CPU time of this process by the time that passes.
func idleCores() (float64, error) {
	before, err := measured.Work()
	if err != nil {
		return 0, err
	}
	time.Sleep(crowdIdle)
	after, err := measured.Work()
	return (after - before) / crowdIdle.Seconds(), err
}

// crowding is a thousand agents. It prints their keys, reads where the lab is, and
// prints for each order how long after the instant each started, in seconds.
func crowding(ctx context.Context, in io.Reader, out io.Writer) error {
	keys := make([]*fabric.Key, crowdSize)
	public := make([]string, crowdSize)
	for i := range keys {
		var err error
		if keys[i], err = fabric.NewKey(); err != nil {
			return err
		}
		public[i] = keys[i].Public()
	}
	e := json.NewEncoder(out)
	if err := e.Encode(public); err != nil {
		return err
	}
	r := bufio.NewReader(in)
	var url string
	if _, err := fmt.Fscanln(r, &url); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := &crew{clock: fabric.SystemClock(), report: e.Encode}
	var work sync.WaitGroup
	for i, key := range keys {
		clock := wrongClock{c.clock, time.Duration(i-crowdSize/2) * 10 * time.Millisecond}
		a, err := fabric.NewAgent(fabric.AgentOptions{
			Endpoint: fabric.Endpoint{URL: url, Key: key}, Name: fmt.Sprintf("agent-%04d", i), Facts: fabric.Observe("bench"),
			Clock: clock, Serve: func(_ context.Context, s *fabric.Stream) { c.serve(clock, s) },
		})
		if err != nil {
			return err
		}
		work.Go(func() { _ = a.Run(ctx) })
	}
	_, _ = io.Copy(io.Discard, r)
	cancel()
	work.Wait()
	return nil
}

type wrongClock struct {
	fabric.Clock
	by time.Duration
}

func (w wrongClock) Now() time.Time { return w.Clock.Now().Add(w.by) }

// crew collects how late the agents of one order started.
type crew struct {
	clock  fabric.Clock
	report func(any) error
	mu     sync.Mutex
	late   []float64
}

// serve reads instants, by the true clock and by the agent's, and waits for each.
func (c *crew) serve(own fabric.Clock, orders io.Reader) {
	lines := bufio.NewReader(orders)
	for {
		var at, mine int64
		if _, err := fmt.Fscanln(lines, &at, &mine); err != nil {
			return
		}
		if at > 0 {
			c.start(own, at, mine)
		}
	}
}

func (c *crew) start(own fabric.Clock, at, mine int64) {
	for left := time.Hour; left > 0; {
		if left = time.Unix(0, mine).Sub(own.Now()); left > 0 {
			<-own.After(left)
		}
	}
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.late = append(c.late, now.Sub(time.Unix(0, at)).Abs().Seconds())
	if len(c.late) == crowdSize {
		_ = c.report(c.late)
		c.late = nil
	}
}
