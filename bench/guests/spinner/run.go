package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/guest/coresched"
)

// Row is what the groups did under a policy.
type Row struct {
	Policy     coresched.Policy
	Turn, Load int     // load in percent of saturation
	ForcedIdle float64 // CPU seconds that threads of cores had to be idle
	ByGroups   float64 // the same, as the threads of the groups have it
	Cookies    int     // different ones of the groups, none left out
	Done
}

// runner runs groups under a policy.
type runner struct {
	plan
	host coresched.Host
}

// run has the groups work under a policy. The rate is that of a thread in units of work per second; 0 is without limit.
func (r runner) run(p coresched.Policy, rate float64) (row Row, err error) {
	row.Policy = p
	file, err := os.CreateTemp("", "slots-*")
	if err != nil {
		return row, err
	}
	defer os.Remove(file.Name()) //nolint:errcheck // of a folder for temporary files
	if err := errors.Join(file.Truncate(slotBytes), file.Close()); err != nil {
		return row, err
	}
	groups := make([]*group, r.groups)
	defer func() {
		for _, g := range groups {
			if g != nil {
				err = errors.Join(err, g.end())
			}
		}
	}()
	for i := range groups {
		if groups[i], err = start("work", file.Name(), strconv.Itoa(i+1), strconv.Itoa(r.threads), fmt.Sprint(rate), r.window.String()); err != nil {
			return row, err
		}
	}
	for _, g := range groups {
		if _, err := fmt.Fscanln(g.out, new(string)); err != nil {
			return row, fmt.Errorf("a group did not start: %w", err)
		}
	}
	if row.Cookies, err = r.apply(p, groups); err != nil {
		return row, err
	}
	before, err := coresched.ForcedIdle()
	if err != nil {
		return row, err
	}
	begin := time.Now().Add(300 * time.Millisecond).UnixMicro()
	for _, g := range groups {
		if _, err := fmt.Fprintln(g.in, begin); err != nil {
			return row, err
		}
	}
	for _, g := range groups {
		var d Done
		if err := json.NewDecoder(g.out).Decode(&d); err != nil {
			return row, fmt.Errorf("a group ended without a result: %w", err)
		}
		row.Done = row.plus(d)
	}
	for _, g := range groups {
		own, _ := coresched.ForcedBy(g.cmd.Process.Pid)
		row.ByGroups += own.Seconds()
	}
	after, err := coresched.ForcedIdle()
	row.ForcedIdle = (after - before).Seconds()
	return row, err
}

// apply gives each group the policy, reads it back, and counts their cookies.
func (r runner) apply(p coresched.Policy, groups []*group) (cookies int, err error) {
	for _, g := range groups {
		if err := p.Apply(g.cmd.Process.Pid); err != nil {
			return 0, err
		}
	}
	var all []uint64
	for _, g := range groups {
		s, err := coresched.Read(g.cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		got, err := s.Policy(r.host)
		if err == nil && got != p {
			err = fmt.Errorf("it reads back as %s: %s", got, s)
		}
		if err != nil {
			return 0, fmt.Errorf("%s for a group: %w", p, err)
		}
		all = append(all, s.Cookies...)
	}
	slices.Sort(all)
	all = slices.DeleteFunc(slices.Compact(all), func(c uint64) bool { return c == 0 })
	if p == coresched.OneGuest && len(all) != len(groups) {
		return 0, fmt.Errorf("%d groups have %d cookies", len(groups), len(all))
	}
	return len(all), nil
}

// group is a process whose threads work together.
type group struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

// start starts a group, which waits for the time to begin.
func start(args ...string) (*group, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	g := &group{cmd: exec.Command(self, args...)}
	g.cmd.Stderr = os.Stderr
	if g.in, err = g.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if g.out, err = g.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return g, g.cmd.Start()
}

func (g *group) end() error {
	g.in.Close() //nolint:errcheck // the process ends with it
	return g.cmd.Wait()
}
