// Package fleet is the platform of machines whose agents have joined the lab:
// whatever dialled in and carries the right labels.
package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/agent/fabric"
	"plimsoll/internal/agent/fabric/hub"
	"plimsoll/internal/agent/remote"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// Settings are what a study may say about the platform.
type Settings struct {
	Labels []string           `name:"labels" doc:"labels that agents must have, as 'role=client'"`
	Agents int                `name:"agents" doc:"how many such agents must have joined before the study starts" min:"1" max:"10000"`
	Wait   parameter.Duration `name:"wait" doc:"how long to wait for them" min:"1s" max:"24h"`
	Listen string             `name:"listen" doc:"address at which the lab's own NATS server listens; beyond loopback it speaks TLS"`
	URL    string             `name:"url" doc:"an external NATS cluster, in place of the lab's own server: 'tls://nats-1:4222,tls://nats-2:4222'"`
	CA     string             `name:"ca" doc:"fingerprint of the certificate authority of the external cluster"`
	State  string             `name:"state" doc:"folder with the lab's keys, its list of agents and what they recorded; empty for this user's own"`
}

// Defaults are the settings of a study that gives none.
func Defaults() Settings {
	return Settings{Agents: 1, Wait: parameter.Duration(time.Minute), Listen: "127.0.0.1:4222"}
}

// Kind is the platform's entry in the catalog.
func Kind() platform.Kind {
	return platform.Kind{
		Name:     "fleet",
		Doc:      "machines whose agents have joined the lab, chosen by their labels",
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
	room    *Room
	machine *remote.Machine
	scratch string
	once    sync.Once
	err     error
}

func open(ctx context.Context, s Settings) (*fleet, error) {
	wanted, err := fabric.ParseLabels(s.Labels)
	if err != nil {
		return nil, err
	}
	room, err := Enter(s)
	if err != nil {
		return nil, err
	}
	f := &fleet{room: room}
	if err := f.take(ctx, s, wanted); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// take waits for the agents and connects to the first.
func (f *fleet) take(ctx context.Context, s Settings, wanted map[string]string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(s.Wait), fmt.Errorf("they did not come within %v; is an agent running with %s?", time.Duration(s.Wait), f.room.Command()))
	defer cancel()
	members, err := f.room.Lab.Await(ctx, wanted, s.Agents)
	if err != nil {
		return err
	}
	first := members[0]
	stream, err := f.room.Lab.Dial(first.ID)
	if err != nil {
		return err
	}
	if f.machine, err = remote.Connect(ctx, stream); err != nil {
		return fmt.Errorf("agent %s: %w", first.Name, err)
	}
	f.scratch = strings.TrimSuffix(first.Facts.Scratch, "/") + "/study"
	return nil
}

// Machine is the first of the agents, by name.
func (f *fleet) Machine() platform.Machine { return f.machine }

// Scratch is the folder on the machine for what workloads write.
func (f *fleet) Scratch() string { return f.scratch }

// Close tells the machine that it is over, so that it puts back what is left,
// and lets all agents go.
func (f *fleet) Close() error {
	f.once.Do(func() {
		if f.machine != nil {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			f.err = f.machine.End(ctx)
		}
		f.err = errors.Join(f.err, f.room.Close())
	})
	return f.err
}

// Room is a lab that agents can join.
type Room struct {
	Lab         *fabric.Lab
	settings    Settings
	key         *fabric.Key
	hub         *hub.Hub // nil with an external cluster
	ledger      *fabric.Ledger
	agents      []string
	fingerprint string
}

// AgentsFile is the file of the state folder that lists the agents that may join.
const AgentsFile = "agents"

// Folder is the state folder that the settings mean.
func (s Settings) Folder() (string, error) {
	if s.State != "" {
		return filepath.Abs(s.State)
	}
	return fabric.StateFolder("lab")
}

// Enter opens the lab's side of the fabric: its own NATS server, or a
// connection to an external cluster.
func Enter(s Settings) (*Room, error) {
	state, err := s.Folder()
	if err != nil {
		return nil, err
	}
	r := &Room{settings: s}
	if r.key, err = fabric.KeepKey(filepath.Join(state, "lab.key")); err != nil {
		return nil, err
	}
	list := filepath.Join(state, AgentsFile)
	if r.agents, err = fabric.ReadAllowed(list); err != nil {
		return nil, err
	}
	if len(r.agents) == 0 {
		return nil, fmt.Errorf("no agent may join this lab: make a key on each machine with plimsoll agent key, and allow it here with plimsoll agent allow (the list is %s)", list)
	}
	if err := r.open(state); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Room) open(state string) (err error) {
	if r.ledger, err = fabric.OpenLedger(state); err != nil {
		return err
	}
	endpoint := fabric.Endpoint{URL: r.settings.URL, CA: r.settings.CA, Key: r.key}
	r.fingerprint = r.settings.CA
	if r.settings.URL == "" {
		r.hub, err = hub.Start(hub.Options{Listen: r.settings.Listen, Folder: state, Lab: r.key.Public(), Agents: r.agents})
		if err != nil {
			return err
		}
		endpoint.InProcess, r.fingerprint = r.hub, r.hub.Fingerprint()
	}
	allowed := map[string]bool{}
	for _, agent := range r.agents {
		allowed[agent] = true
	}
	r.Lab, err = fabric.OpenLab(fabric.LabOptions{
		Endpoint: endpoint, Ledger: r.ledger, Allowed: func(agent string) bool { return allowed[agent] },
	})
	return err
}

// Command is what starts an agent of this lab on another machine.
func (r *Room) Command() string {
	url := r.settings.URL
	if r.hub != nil {
		url = r.hub.URL()
		everywhere := strings.HasPrefix(url, "nats://[::]") || strings.HasPrefix(url, "nats://0.0.0.0")
		if host, err := os.Hostname(); err == nil && everywhere {
			url = "nats://" + host + url[strings.LastIndexByte(url, ':'):]
		}
	}
	text := "plimsoll agent --lab " + url + " --key FILE --lab-key " + r.key.Public()
	if r.fingerprint != "" {
		text += " --ca " + r.fingerprint
	}
	return text
}

// Close closes the lab and its server.
func (r *Room) Close() error {
	var err error
	if r.Lab != nil {
		err = r.Lab.Close()
	}
	if r.hub != nil {
		r.hub.Close()
	}
	if r.ledger != nil {
		err = errors.Join(err, r.ledger.Close())
	}
	return err
}
