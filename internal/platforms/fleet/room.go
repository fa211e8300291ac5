package fleet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/internal/agent/fabric"
	"plimsoll/internal/agent/fabric/hub"
)

// Room is a lab that agents can join.
type Room struct {
	Lab         *fabric.Lab
	settings    Settings
	key         *fabric.Key
	hub         *hub.Hub // nil with an external cluster
	agents      []string
	fingerprint string
}

// AgentsFile is the file of the state folder that lists the agents that may join.
const AgentsFile = "agents"

// Folder is the state folder of the settings.
func (s Settings) Folder() (string, error) {
	if s.State != "" {
		return filepath.Abs(s.State)
	}
	return fabric.StateFolder("lab")
}

// enter opens the lab's side of the fabric: its own NATS server, or a
// connection to an external cluster.
func enter(s Settings) (*Room, error) {
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
		return nil, fmt.Errorf("no agent is allowed to join this lab: create a key on each machine with plimsoll agent key, and allow it with plimsoll agent allow (the list is %s)", list)
	}
	if err := r.open(state); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (r *Room) open(state string) (err error) {
	endpoint := fabric.Endpoint{URL: r.settings.URL, CA: r.settings.CA, Key: r.key}
	r.fingerprint = r.settings.CA
	if r.settings.URL == "" {
		r.hub, err = hub.Start(hub.Options{Listen: r.settings.Listen, Folder: state, Lab: r.key.Public(), Agents: r.agents})
		if err != nil {
			return err
		}
		endpoint.InProcess, r.fingerprint = r.hub, r.hub.Fingerprint()
	}
	r.Lab, err = fabric.OpenLab(fabric.LabOptions{Endpoint: endpoint, Lease: time.Duration(r.settings.Lease), Agents: r.agents})
	return err
}

// Command is the command that starts an agent of this lab on another machine.
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
	return err
}
