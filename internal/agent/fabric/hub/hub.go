// Package hub is the NATS server inside a lab: it lets in the lab itself and
// the agents in its list, each by its NKey and each to its own subjects only.
// Beyond loopback it speaks TLS, with a certificate of an authority of its own.
package hub

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"plimsoll/internal/agent/fabric"
)

// Options are the listen address of a hub, and its clients.
type Options struct {
	Listen string   // host:port; port 0 for a free one
	Folder string   // folder of its certificates; required beyond loopback
	Lab    string   // the lab's public key
	Agents []string // the public keys of agents that may join
}

// Hub is a NATS server that runs.
type Hub struct {
	server      *server.Server
	fingerprint string
}

// mostAgents is the maximum number of connected agents.
const mostAgents = 16384

// patience is the time limit of the server's start.
const patience = 10 * time.Second

// Start starts a hub.
func Start(o Options) (*Hub, error) {
	host, portText, err := net.SplitHostPort(o.Listen)
	port, err2 := strconv.ParseUint(portText, 10, 16)
	if err := errors.Join(err, err2); err != nil {
		return nil, fmt.Errorf("invalid listen address %q: must be host:port", o.Listen)
	}
	h := &Hub{}
	options := &server.Options{
		ServerName: "plimsoll", Host: host, Port: int(port), Nkeys: users(o),
		NoLog: true, NoSigs: true, MaxPayload: fabric.MaxPayload, MaxConn: mostAgents, MaxSubs: 64,
		MaxPending:   16 << 20, // limit of pending bytes for a slow agent
		PingInterval: 5 * time.Second, MaxPingsOut: 2, AuthTimeout: 5, WriteDeadline: 10 * time.Second,
	}
	if port == 0 {
		options.Port = server.RANDOM_PORT
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		config, fingerprint, err := certificates(o.Folder, host)
		if err != nil {
			return nil, err
		}
		options.TLS, options.TLSConfig, options.TLSTimeout, h.fingerprint = true, config, 5, fingerprint
	}
	if h.server, err = server.NewServer(options); err != nil {
		return nil, fmt.Errorf("start the NATS server of the lab: %w", err)
	}
	h.server.Start()
	if !h.server.ReadyForConnections(patience) {
		h.Close()
		return nil, fmt.Errorf("start the NATS server of the lab: it cannot listen at %s: is another lab running there?", o.Listen)
	}
	return h, nil
}

// users gives each key its permissions.
func users(o Options) []*server.NkeyUser {
	user := func(key, publish, subscribe string) *server.NkeyUser {
		return &server.NkeyUser{Nkey: key, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{publish}},
			Subscribe: &server.SubjectPermission{Allow: []string{subscribe}},
		}}
	}
	all := []*server.NkeyUser{user(o.Lab, fabric.LabSubjects, fabric.LabSubjects)}
	known := map[string]bool{o.Lab: true}
	for _, agent := range o.Agents {
		if !known[agent] {
			known[agent] = true
			all = append(all, user(agent, fabric.UpSubject(agent), fabric.DownSubject(agent)))
		}
	}
	return all
}

// Addr is the hub's listening address.
func (h *Hub) Addr() net.Addr { return h.server.Addr() }

// URL is the address of the hub for agents on this machine.
func (h *Hub) URL() string { return "nats://" + h.Addr().String() }

// Fingerprint is the fingerprint of the hub's certificate authority, for agents beyond
// loopback; empty on loopback.
func (h *Hub) Fingerprint() string { return h.fingerprint }

// InProcessConn is a connection to the hub without a network, for the lab.
func (h *Hub) InProcessConn() (net.Conn, error) { return h.server.InProcessConn() }

// Close ends the hub and all connections.
func (h *Hub) Close() {
	h.server.Shutdown()
	h.server.WaitForShutdown()
}
