// Package join makes a machine part of a fleet: it joins a lab through the fabric and
// serves its machine to the lab, behind a guard.
package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"plimsoll/internal/agent/fabric"
	"plimsoll/internal/agent/guard"
	"plimsoll/internal/agent/remote"
	"plimsoll/internal/platform"
)

// Options are the lab to join, and its permissions here.
type Options struct {
	Lab          string // address of the NATS server: nats://host:port
	Key          string // file with the agent's key
	CA           string // fingerprint of the lab's certificate authority
	LabKey       string // public key of the lab; empty accepts any that the server admits
	Name         string // empty is the machine's
	Labels       map[string]string
	State        string // folder of the lock and of the settings to restore
	Scratch      string // data folder of workloads
	Commands     bool   // whether a study may run its own commands
	Subprocesses []string
	Version      string
	Machine      platform.Machine
	Log          func(format string, args ...any)
	Clock        fabric.Clock // nil is the system's; the lab measures the offset of this clock
}

// patience is the time limit to restore settings after a session.
const patience = 30 * time.Second

// Run joins the lab and stays until ctx ends or the lab refuses the key. While the lab is
// unreachable, it retries.
func Run(ctx context.Context, o Options) error {
	release, err := lock(o.State)
	if err != nil {
		return err
	}
	defer release()
	whole, ok := o.Machine.(guard.Whole)
	if !ok {
		return fmt.Errorf("machine %s does not support agents", o.Machine.Name())
	}
	key, err := fabric.ReadKey(o.Key)
	if err != nil {
		return err
	}
	if o.LabKey != "" && !fabric.IsPublic(o.LabKey) {
		return fmt.Errorf("%q is not the public key of a lab, which begins with U", o.LabKey)
	}
	if err := os.MkdirAll(o.Scratch, 0o755); err != nil {
		return fmt.Errorf("create the scratch folder: %w", err)
	}
	guarded, err := guard.New(ctx, whole, guard.Rules{
		Commands: o.Commands, Subprocesses: o.Subprocesses, Scratch: o.Scratch, Memory: filepath.Join(o.State, "changed.json"),
	})
	if err != nil {
		return fmt.Errorf("restore the settings that an earlier agent changed: %w", err)
	}
	return o.join(ctx, key, guarded)
}

func (o Options) join(ctx context.Context, key *fabric.Key, guarded *guard.Machine) error {
	facts := fabric.Observe(o.Version)
	facts.Commands, facts.Scratch, facts.Address = o.Commands, o.Scratch, addressTowards(o.Lab)
	server := &labServer{machine: guarded, version: o.Version, log: o.Log, free: make(chan struct{}, 1)}
	if o.Clock != nil {
		server.now = o.Clock.Now
	}
	server.free <- struct{}{}
	name := o.Name
	if name == "" {
		name = guarded.Name()
	}
	agent, err := fabric.NewAgent(fabric.AgentOptions{
		Endpoint: fabric.Endpoint{URL: o.Lab, Key: key, CA: o.CA, Log: o.Log},
		Lab:      o.LabKey, Name: name, Labels: o.Labels, Facts: facts,
		Serve: server.serve, Lost: server.lost, Clock: o.Clock, Log: o.Log,
	})
	if err != nil {
		return err
	}
	return agent.Run(ctx)
}

// addressTowards is the IP address of this machine on the route to the lab; empty if there is
// none. It sends nothing.
func addressTowards(lab string) string {
	first, _, _ := strings.Cut(lab, ",")
	u, err := url.Parse(strings.TrimSpace(first))
	if err != nil {
		return ""
	}
	conn, err := net.Dial("udp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "4222")))
	if err != nil {
		return ""
	}
	defer conn.Close() //nolint:errcheck // nothing was sent
	if at, ok := conn.LocalAddr().(*net.UDPAddr); ok {
		return at.IP.String()
	}
	return ""
}

// labServer serves one lab at a time, since two would change each other's settings.
type labServer struct {
	machine *guard.Machine
	version string
	log     func(string, ...any)
	now     func() time.Time // nil is the system's
	free    chan struct{}    // holds a token while no lab is served
}

// handover is the time that a lab waits until the settings of the previous one are restored.
const handover = 20 * time.Second

// serve has no keepalive timeout: the fabric's lease detects the loss of the lab, and its
// streams survive shorter network outages.
func (d *labServer) serve(ctx context.Context, s *fabric.Stream) {
	patience := time.NewTimer(handover)
	defer patience.Stop()
	select {
	case <-d.free:
	case <-ctx.Done():
		return
	case <-patience.C:
		s.Reset(errors.New("the machine is in use by another study"))
		return
	}
	defer func() { d.free <- struct{}{} }()
	server := remote.Server{Machine: d.machine, Version: d.version, Restore: d.machine.Restore, Silence: remote.Endless, Now: d.now}
	if err := server.Serve(ctx, s); err != nil {
		d.log("%v", err)
	}
}

// lost frees workers and restores settings that the end of the connection left.
func (d *labServer) lost(error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := errors.Join(d.machine.Confine(ctx, platform.Confinement{}), d.machine.Restore(ctx)); err != nil {
		d.log("after the session: %v", err)
	}
}

// lock prevents a second agent in the state folder.
func lock(folder string) (release func(), err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("create the agent's state folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the agent's state folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("another agent uses the state folder %s: give this one its own with --state", folder)
	}
	return func() { _ = f.Close() }, nil
}
