// Package fleet is the platform of machines whose agents have joined the lab, selected by
// labels.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/agent/fabric"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// Settings are the settings of the platform.
type Settings struct {
	Labels []string           `name:"labels" doc:"labels required of agents, such as 'role=client'"`
	Agents int                `name:"agents" doc:"number of matching agents required to start the study" min:"1" max:"10000"`
	Wait   parameter.Duration `name:"wait" doc:"time to wait for those agents" min:"1s" max:"24h"`
	Lease  parameter.Duration `name:"lease" doc:"lease: longest loss of connection, after which the agent stops the load and restores settings" min:"1s" max:"1h"`
	Listen string             `name:"listen" doc:"listen address of the lab's NATS server; TLS except on loopback"`
	URL    string             `name:"url" doc:"external NATS cluster instead of the lab's server: 'tls://nats-1:4222,tls://nats-2:4222'"`
	CA     string             `name:"ca" doc:"CA fingerprint of the external NATS cluster"`
	State  string             `name:"state" doc:"folder of the lab's keys and agent list; empty is the user's state folder"`
}

// Defaults are the default settings.
func Defaults() Settings {
	return Settings{Agents: 1, Wait: parameter.Duration(time.Minute), Lease: parameter.Duration(fabric.Lease), Listen: "127.0.0.1:4222"}
}

// Kind is the platform's entry in the catalog.
func Kind() platform.Kind {
	return platform.Kind{
		Needs:    "agents",
		Name:     "fleet",
		Doc:      "machines whose agents have joined the lab, selected by labels",
		Defaults: Defaults(),
		Open: func(ctx context.Context, settings parameter.Settings, _ uint64) (platform.Platform, error) {
			s := Defaults()
			if err := parameter.Decode(&s, settings); err != nil {
				return nil, err
			}
			return open(ctx, s)
		},
	}
}

// fleet is the platform, open.
type fleet struct {
	room     *Room
	settings Settings
	first    *machine
	once     sync.Once
	err      error

	mu       sync.Mutex          // guards the fields below
	machines map[string]*machine // by public key
	groups   map[string][]*machine
}

func open(ctx context.Context, s Settings) (*fleet, error) {
	wanted, err := fabric.ParseLabels(s.Labels)
	if err != nil {
		return nil, err
	}
	room, err := enter(s)
	if err != nil {
		return nil, err
	}
	f := &fleet{room: room, settings: s, machines: map[string]*machine{}, groups: map[string][]*machine{}}
	if err := f.take(ctx, wanted); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// take waits for the agents.
func (f *fleet) take(ctx context.Context, wanted map[string]string) error {
	ctx, cancel := f.patience(ctx, f.settings)
	defer cancel()
	if _, err := f.room.Lab.Await(ctx, wanted, f.settings.Agents); err != nil {
		return err
	}
	members, err := f.latecomers(ctx, wanted)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first = f.machine(members[0])
	return nil
}

// late is how long after the first agents other running agents may join: they retry about once
// per second.
const late = 2 * time.Second

// latecomers returns the matching agents once all that may join have joined, or late is over:
// the first by name must not depend on which was fastest.
func (f *fleet) latecomers(ctx context.Context, wanted map[string]string) ([]fabric.Member, error) {
	settled, cancel := context.WithTimeout(ctx, late)
	defer cancel()
	_, _ = f.room.Lab.AwaitAll(settled, func(all []fabric.Member) bool { return len(all) >= len(f.room.agents) })
	return f.room.Lab.Await(ctx, wanted, f.settings.Agents)
}

// patience bounds the wait for agents.
func (f *fleet) patience(ctx context.Context, s Settings) (context.Context, context.CancelFunc) {
	wait := time.Duration(s.Wait)
	return context.WithTimeoutCause(ctx, wait, fmt.Errorf("they did not join within %v; is an agent running with %s?", wait, f.room.Command()))
}

// machine returns the machine of an agent, the same at every call. The lock is held.
func (f *fleet) machine(of fabric.Member) *machine {
	m, known := f.machines[of.ID]
	if !known {
		m = newMachine(f, of)
		f.machines[of.ID] = m
	}
	return m
}

// Machine is the machine of the first agent by name.
func (f *fleet) Machine() platform.Machine { return f.first }

// Choose waits for the agent of that name, and makes its machine the first.
func (f *fleet) Choose(ctx context.Context, name string) error {
	if f.first.Name() == name {
		return nil
	}
	ctx, cancel := f.patience(ctx, f.settings)
	defer cancel()
	named := func(m fabric.Member) bool { return m.Name == name }
	all, err := f.room.Lab.AwaitAll(ctx, func(all []fabric.Member) bool { return slices.ContainsFunc(all, named) })
	if err != nil {
		return fmt.Errorf("wait for agent %s, on which the run started: %w", name, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first = f.machine(all[slices.IndexFunc(all, named)])
	return nil
}

// Scratch is the folder on the machine for workloads.
func (f *fleet) Scratch() string { return f.first.Scratch() }

// Close ends the connections to all machines, which restore settings, and closes the lab.
func (f *fleet) Close() error {
	f.once.Do(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		var work sync.WaitGroup
		ended := make([]error, 0, len(f.machines))
		var mu sync.Mutex
		for _, m := range f.machines {
			work.Go(func() {
				err := m.close()
				mu.Lock()
				defer mu.Unlock()
				ended = append(ended, err)
			})
		}
		work.Wait()
		f.err = errors.Join(slices.Concat(ended, []error{f.room.Close()})...)
	})
	return f.err
}
