package rule

import (
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/network"
)

// leastServed are the segments per second of a program that serves connections.
const leastServed = 10.

// flows are the connections of a program.
func flows(e *diagnosis.Evidence, p *diagnosis.Program) (all []*network.Flow) {
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

// answers reports whether a program serves connections.
func answers(e *diagnosis.Evidence, p *diagnosis.Program) bool {
	served := 0.
	for _, f := range flows(e, p) {
		if f.Port != 0 {
			served += f.Segments + f.SegmentsIn
		}
	}
	return served >= leastServed
}

// calls reports whether a program opens connections with much traffic, and serves none.
func calls(e *diagnosis.Evidence, p *diagnosis.Program) bool {
	sent := 0.
	for _, f := range flows(e, p) {
		if f.Port != 0 {
			return false
		}
		sent += f.Segments + f.SegmentsIn
	}
	return sent >= leastCalls*p.Busy && sent > 0 && systemShare(p) >= kernelWork
}

// connected reports whether one program of the host calls the other.
func connected(e *diagnosis.Evidence, a, b *diagnosis.Program) bool {
	meet := func(client, server []*network.Flow) bool {
		for _, s := range server {
			if s.Port != 0 && slices.ContainsFunc(client, func(c *network.Flow) bool { return c.Port == 0 && strings.HasSuffix(c.Peer, ":"+strconv.Itoa(s.Port)) }) {
				return true
			}
		}
		return false
	}
	x, y := flows(e, a), flows(e, b)
	return meet(x, y) || meet(y, x)
}
