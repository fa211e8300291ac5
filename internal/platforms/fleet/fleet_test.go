package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/agent/fabric"
	"plimsoll/internal/agent/join"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/fleet"
	"plimsoll/internal/platforms/local"
)

const patience = 30 * time.Second

// ports counts those that were taken or tried.
var ports atomic.Int64

// freePort is an address that nothing listens at. No other test of this process gets it, and
// the kernel gives its port to no connection.
func freePort(t *testing.T) string {
	t.Helper()
	const lowest, many = 20_000, 10_000
	for range many {
		address := fmt.Sprintf("127.0.0.1:%d", lowest+(int64(os.Getpid())*37+ports.Add(1))%many)
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}

// here runs an agent for this machine until the test ends.
func here(t *testing.T, listen, state string, change func(*join.Options)) (scratch string) {
	t.Helper()
	dir := t.TempDir()
	key, err := fabric.KeepKey(filepath.Join(dir, "agent.key"))
	if err != nil {
		t.Fatal(err)
	}
	if err := fabric.Allow(filepath.Join(state, fleet.AgentsFile), key.Public()); err != nil {
		t.Fatal(err)
	}
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	o := join.Options{
		Lab: "nats://" + listen, Key: filepath.Join(dir, "agent.key"), Name: "here", Labels: map[string]string{"role": "client"},
		State: filepath.Join(dir, "state"), Scratch: filepath.Join(dir, "scratch"), Machine: p.Machine(), Version: "test", Log: t.Logf,
	}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- join.Run(ctx, o) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the agent ended with %v", err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return o.Scratch
}

func open(t *testing.T, listen, state string) platform.Platform {
	t.Helper()
	p, err := fleet.Kind().Open(t.Context(), parameter.Settings{"listen": listen, "state": state, "labels": `["role=client"]`, "wait": patience.String()}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A study's machine is the agent's, with the owner's rules, and again after the lab came back. The
// lab listens again at its address, which processes that other tests start would hold for an instant.
func TestAnAgentIsAMachine(t *testing.T) {
	t.Parallel()
	listen, state := freePort(t), t.TempDir()
	scratch := here(t, listen, state, nil)
	for range 2 {
		p := open(t, listen, state)
		m := p.Machine()
		if at := p.(interface{ Scratch() string }).Scratch(); filepath.Dir(at) != scratch {
			t.Errorf("workloads write to %s", at)
		}
		r, err := m.Run(t.Context(), platform.Command{Argv: []string{"tee", "--", scratch + "/a"}, Stdin: strings.NewReader("text")})
		if err != nil || r.Exit != 0 || string(r.Stdout) != "text" {
			t.Errorf("%+v, %v", r, err)
		}
		if text, err := m.ReadFile(t.Context(), scratch+"/a"); err != nil || string(text) != "text" {
			t.Errorf("%q, %v", text, err)
		}
		if _, err := m.ReadFile(t.Context(), scratch+"/b"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file that is absent: %v", err)
		}
		if _, err := m.Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", "touch " + scratch + "/c"}}); err == nil || !strings.Contains(err.Error(), "--allow-commands") {
			t.Errorf("a study's own command: %v", err)
		}
		if _, err := os.Stat(scratch + "/c"); !errors.Is(err, fs.ErrNotExist) {
			t.Error("a study's own command ran without leave")
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAnOwnerMayAllowCommands(t *testing.T) {
	t.Parallel()
	listen, state := freePort(t), t.TempDir()
	here(t, listen, state, func(o *join.Options) { o.Commands = true })
	p := open(t, listen, state)
	r, err := p.Machine().Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", "echo yes"}})
	if err != nil || string(r.Stdout) != "yes\n" {
		t.Errorf("%+v, %v", r, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	for want, settings := range map[string]parameter.Settings{
		"no agent is allowed to join": {"state": state},
		"must be key=value":           {"state": state, "labels": `["x"]`},
		"unknown key":                 {"lables": "x"},
	} {
		if _, err := fleet.Kind().Open(t.Context(), settings, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", settings, err, want)
		}
	}
	key, err := fabric.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := fabric.Allow(filepath.Join(state, fleet.AgentsFile), key.Public()); err != nil {
		t.Fatal(err)
	}
	_, err = fleet.Kind().Open(t.Context(), parameter.Settings{"state": state, "listen": "127.0.0.1:0", "wait": "1s", "labels": `["role=x"]`}, 1)
	if err == nil || !strings.Contains(err.Error(), "0 have joined") || !strings.Contains(err.Error(), "plimsoll agent --lab") {
		t.Errorf("nobody came: %v", err)
	}
}

// Two agents on one machine do not share a state folder.
func TestTheStateFolderIsLocked(t *testing.T) {
	t.Parallel()
	listen, state := freePort(t), t.TempDir()
	var first join.Options
	here(t, listen, state, func(o *join.Options) { first = *o })
	p := open(t, listen, state) // the first agent runs by now
	defer p.Close()
	if err := join.Run(t.Context(), first); err == nil || !strings.Contains(err.Error(), "--state") {
		t.Errorf("a second agent: %v", err)
	}
}
