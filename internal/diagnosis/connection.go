package diagnosis

import (
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/network"
)

// leastServed are the segments per second of a program that serves connections.
const leastServed = 10.

// Flows are the connections of a program.
func (e *Evidence) Flows(p *Program) (all []*network.Flow) {
	if e.Mean.Network == nil {
		return nil
	}
	for i := range e.Mean.Network.Flows {
		f := &e.Mean.Network.Flows[i]
		if f.PID > 0 && slices.ContainsFunc(p.Processes, func(one *hoststat.Process) bool { return one.PID == f.PID }) {
			all = append(all, f)
		}
	}
	return all
}

// Answers reports whether a program serves connections.
func (e *Evidence) Answers(p *Program) bool {
	served := 0.
	for _, f := range e.Flows(p) {
		if f.Port != 0 {
			served += f.Segments + f.SegmentsIn
		}
	}
	return served >= leastServed
}

// Listens reports whether a program waits for connections over a network, or is a server that others of its
// host call through a Unix socket: managers of processes listen on such sockets as well.
func (e *Evidence) Listens(p *Program) bool {
	if e.Mean.Network == nil {
		return false
	}
	local := p.Name == "postgres" || strings.HasPrefix(p.Name, "php-fpm")
	return slices.ContainsFunc(e.Mean.Network.Listeners, func(l network.Listener) bool {
		return (local || !l.Unix()) && slices.ContainsFunc(p.Processes, func(one *hoststat.Process) bool { return one.PID == l.PID })
	})
}

// Connected reports whether one program of the host calls the other.
func (e *Evidence) Connected(a, b *Program) bool {
	meet := func(client, server []*network.Flow) bool {
		for _, s := range server {
			if s.Port != 0 && slices.ContainsFunc(client, func(c *network.Flow) bool { return c.Port == 0 && strings.HasSuffix(c.Peer, ":"+strconv.Itoa(s.Port)) }) {
				return true
			}
		}
		return false
	}
	x, y := e.Flows(a), e.Flows(b)
	return meet(x, y) || meet(y, x)
}
