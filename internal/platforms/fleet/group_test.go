package fleet_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/agent/fabric"
	"plimsoll/internal/agent/join"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/fleet"
	"plimsoll/internal/platforms/local"
)

// crew is several agents of this machine, each of which can go and come back.
type crew struct {
	t      *testing.T
	listen string
	state  string
	all    map[string]join.Options
	stop   map[string]func()
}

func newCrew(t *testing.T) *crew {
	t.Helper()
	t.Parallel()
	return &crew{t: t, listen: freePort(t), state: t.TempDir(), all: map[string]join.Options{}, stop: map[string]func(){}}
}

// hire makes an agent that may join.
func (c *crew) hire(name string, labels ...string) {
	c.t.Helper()
	dir := c.t.TempDir()
	key, err := fabric.KeepKey(filepath.Join(dir, "agent.key"))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := fabric.Allow(filepath.Join(c.state, fleet.AgentsFile), key.Public()); err != nil {
		c.t.Fatal(err)
	}
	own, err := fabric.ParseLabels(labels)
	if err != nil {
		c.t.Fatal(err)
	}
	p, err := local.Kind().Open(c.t.Context(), nil, 1)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		c.leave(name)
		if err := p.Close(); err != nil {
			c.t.Error(err)
		}
	})
	c.all[name] = join.Options{
		Lab: "nats://" + c.listen, Key: filepath.Join(dir, "agent.key"), Name: name, Labels: own,
		State: filepath.Join(dir, "state"), Scratch: filepath.Join(dir, "scratch"), Machine: p.Machine(), Version: "test", Log: c.t.Logf,
	}
}

// come starts an agent.
func (c *crew) come(name string) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := join.Run(ctx, c.all[name])
		// Processes that other tests start hold the lock of a former agent for an instant.
		for err != nil && strings.Contains(err.Error(), "another agent uses the state folder") && ctx.Err() == nil {
			<-time.After(5 * time.Millisecond)
			err = join.Run(ctx, c.all[name])
		}
		ended <- err
	}()
	c.stop[name] = func() {
		cancel()
		if err := <-ended; err != nil {
			c.t.Errorf("agent %s ended with %v", name, err)
		}
	}
}

func (c *crew) leave(name string) {
	if stop := c.stop[name]; stop != nil {
		delete(c.stop, name)
		stop()
	}
}

func (c *crew) open(settings parameter.Settings) platform.Grouped {
	c.t.Helper()
	settings["listen"], settings["state"] = c.listen, c.state
	p, err := fleet.Kind().Open(c.t.Context(), settings, 1)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if err := p.Close(); err != nil {
			c.t.Error(err)
		}
	})
	g, ok := p.(platform.Grouped)
	if !ok {
		c.t.Fatal("a fleet has no groups")
	}
	return g
}

func group(name string, machines int, labels string) platform.Group {
	g := platform.Group{Name: name, Machines: machines, Settings: parameter.Settings{}}
	if labels != "" {
		g.Settings["labels"] = `["` + labels + `"]`
	}
	return g
}

// members has a group made and checks who is in it.
func (c *crew) members(p platform.Grouped, g platform.Group, want string) []platform.Machine {
	c.t.Helper()
	all, err := platform.MembersOf(c.t.Context(), p, g)
	if err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for _, m := range all {
		names = append(names, m.Name())
	}
	if got := strings.Join(names, " "); got != want {
		c.t.Errorf("group %s has %q, want %q", g.Name, got, want)
	}
	return all
}

func TestGroupsOfAgents(t *testing.T) {
	c := newCrew(t)
	c.hire("a", "role=client")
	c.hire("b", "role=client")
	c.hire("c", "role=client", "address=192.0.2.7")
	c.hire("d", "role=server")
	for _, name := range []string{"c", "d", "b"} {
		c.come(name)
	}
	p := c.open(parameter.Settings{"agents": "3", "wait": patience.String()})
	first := c.members(p, group("client", 2, "role=client"), "b c")
	c.come("a")
	c.members(p, group("server", 1, "role=server"), "d")
	// Those that a group has keep their place; the new one comes after them.
	second := c.members(p, group("client", 3, "role=client"), "b c a")
	if first[0] != second[0] || first[1] != second[1] {
		t.Error("a group's machines became others")
	}
	for i, m := range second {
		r, err := m.Run(t.Context(), platform.Command{Argv: []string{"cat"}, Stdin: strings.NewReader(m.Name())})
		if err != nil || string(r.Stdout) != m.Name() {
			t.Errorf("machine %d: %q, %v", i, r.Stdout, err)
		}
		if _, u, err := m.(platform.Clocked).Offset(t.Context()); err != nil || u > time.Second {
			t.Errorf("the clock of machine %d is known to ± %v, %v", i, u, err)
		}
		if at, err := m.(platform.Connected).Address(t.Context()); i == 1 && at != "192.0.2.7" || net.ParseIP(at) == nil {
			t.Errorf("machine %d is at %q, %v", i, at, err)
		}
	}
	// What the group gives up is free for others, and nobody is in two.
	c.members(p, group("client", 1, "role=client"), "b")
	c.members(p, group("rest", 2, ""), "a c")
}

// The machine of a run that goes on, or is put back, is waited for, also where another agent was quicker.
func TestAMachineIsChosen(t *testing.T) {
	c := newCrew(t)
	c.hire("a")
	c.hire("b")
	c.come("b")
	p := c.open(parameter.Settings{"wait": patience.String()}).(platform.Platform)
	if name := p.Machine().Name(); name != "b" {
		t.Fatalf("the only machine is %s", name)
	}
	chosen := make(chan error, 1)
	go func() { chosen <- p.(platform.Chooser).Choose(t.Context(), "a") }()
	c.come("a")
	if err := <-chosen; err != nil || p.Machine().Name() != "a" || !strings.HasPrefix(p.(platform.ScratchProvider).Scratch(), c.all["a"].Scratch) {
		t.Errorf("%v: the machine is %s, its folder %s", err, p.Machine().Name(), p.(platform.ScratchProvider).Scratch())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.(platform.Chooser).Choose(ctx, "x"); err == nil || !strings.Contains(err.Error(), "wait for agent x") || p.Machine().Name() != "a" {
		t.Errorf("an agent that is not there: %v", err)
	}
}

func TestWhatAGroupLacksIsNamed(t *testing.T) {
	c := newCrew(t)
	c.hire("a", "role=client")
	c.hire("b", "role=server")
	c.come("a")
	c.come("b")
	p := c.open(parameter.Settings{"agents": "2", "wait": patience.String()})
	c.members(p, group("client", 1, "role=client"), "a")
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	for want, g := range map[string]platform.Group{
		"group other needs 2 agents: 1 are missing; it has b; others have a (group client)": group("other", 2, ""),
		"2 agents with role=server: 1 are missing; it has b":                                group("server", 2, "role=server"),
		"must be key=value":       group("x", 1, "role"),
		"the same for all groups": {Name: "x", Machines: 1, Settings: parameter.Settings{"listen": "127.0.0.1:1"}},
		"unknown key":             {Name: "x", Machines: 1, Settings: parameter.Settings{"vcpus": "1"}},
	} {
		if _, err := p.Members(soon(), g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", g, err, want)
		}
	}
	patient := group("x", 1, "role=x")
	patient.Settings["wait"] = "1s"
	if _, err := p.Members(t.Context(), patient); err == nil || !strings.Contains(err.Error(), "plimsoll agent --lab") {
		t.Errorf("a group that is waited for: %v", err)
	}
	c.leave("a")
	var err error
	for begin := time.Now(); err == nil && time.Since(begin) < patience; { // until the lab has heard of it
		_, err = p.Members(soon(), group("client", 1, "role=client"))
	}
	if err == nil || !strings.Contains(err.Error(), "a went away") {
		t.Errorf("an agent that left: %v", err)
	}
	// A failed call changes nothing: the group is whole again when its agent is back.
	c.come("a")
	c.members(p, group("client", 1, "role=client"), "a")
}

// Results are kept by the names of machines, so two agents of one name do not pass.
func TestTwoAgentsOfOneName(t *testing.T) {
	c := newCrew(t)
	c.hire("a")
	c.hire("b")
	twin := c.all["b"]
	twin.Name = "a"
	c.all["b"] = twin
	c.come("a")
	c.come("b")
	p := c.open(parameter.Settings{"agents": "2", "wait": patience.String()})
	if _, err := p.Members(t.Context(), group("", 2, "")); err == nil || !strings.Contains(err.Error(), "two agents are called a") {
		t.Errorf("two agents of one name: %v", err)
	}
}

// fast is a clock that is ahead.
type fast struct {
	fabric.Clock
	by time.Duration
}

func (f fast) Now() time.Time { return f.Clock.Now().Add(f.by) }

// An agent whose clock is 5 s off joins, stays, and has that offset for all who ask, so
// that what begins together begins at the same instant.
func TestAClockThatIsSecondsOff(t *testing.T) {
	c := newCrew(t)
	ahead := []time.Duration{5 * time.Second, -5 * time.Second}
	for i, name := range []string{"fast", "slow"} {
		c.hire(name)
		o := c.all[name]
		o.Clock = fast{fabric.SystemClock(), ahead[i]}
		c.all[name] = o
		c.come(name)
	}
	p := c.open(parameter.Settings{"agents": "2", "wait": patience.String(), "lease": "1s"})
	var running sync.WaitGroup
	defer running.Wait()
	for i, m := range c.members(p, group("", 2, ""), "fast slow") {
		offset, uncertainty, err := m.(platform.Clocked).Offset(t.Context())
		if err != nil || (offset-ahead[i]).Abs() > uncertainty+5*time.Millisecond || uncertainty > time.Second {
			t.Errorf("a clock that is %v ahead: %v ± %v, %v", ahead[i], offset, uncertainty, err)
		}
		// Longer than the lease, which is renewed by the time that passes, not by what clocks show.
		running.Go(func() {
			r, err := m.Run(t.Context(), platform.Command{Argv: []string{"cat"}, Stdin: slow(1500 * time.Millisecond)})
			if err != nil || r.Exit != 0 {
				t.Errorf("a command that is longer than the lease: %+v, %v", r, err)
			}
		})
	}
}

// slow is an input that ends after some time.
func slow(after time.Duration) io.Reader {
	r, w := io.Pipe()
	time.AfterFunc(after, func() { _ = w.Close() })
	return r
}

// A machine whose agent died and came back is used again; what ran is an error.
func TestAnAgentComesBack(t *testing.T) {
	c := newCrew(t)
	c.hire("a")
	c.come("a")
	p := c.open(parameter.Settings{"wait": patience.String()})
	m := c.members(p, group("", 1, ""), "a")[0]
	ran := make(chan error, 1)
	reader, writer := net.Pipe()
	defer writer.Close()
	go func() {
		_, err := m.Run(t.Context(), platform.Command{Argv: []string{"cat"}, Stdin: reader, Stdout: &strings.Builder{}})
		ran <- err
	}()
	if _, err := writer.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	c.leave("a")
	_ = writer.Close() // an input that does not end is waited for
	select {
	case err := <-ran:
		if err == nil || errors.Is(err, context.Canceled) {
			t.Errorf("what ran while the agent left: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("what ran on an agent that left goes on")
	}
	c.come("a")
	if r, err := m.Run(t.Context(), platform.Command{Argv: []string{"nproc"}}); err != nil || r.Exit != 0 {
		t.Errorf("after it came back: %+v, %v", r, err)
	}
}
