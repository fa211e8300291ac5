package hoststat

import (
	"bytes"
	"errors"
	"io/fs"

	"plimsoll/internal/hoststat/network"
	"plimsoll/internal/hoststat/parse"
)

// readLinks reads /proc/net/dev of the reader's network namespace.
func readLinks(r *Reader, s *State) error {
	text, err := r.file("proc/net/dev")
	if err != nil {
		return err
	}
	s.Links = parseLinks(text)
	return nil
}

func parseLinks(text []byte) (all []Link) {
	var f []float64
	for line := range bytes.Lines(text) {
		name, rest, found := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		if f = parse.Numbers(f[:0], rest); !found || len(f) < 12 {
			continue
		}
		all = append(all, Link{string(name), f[0], f[1], f[2], f[3], f[8], f[9], f[10], f[11]})
	}
	return all
}

// readNet reads /proc/net/snmp, /proc/net/netstat and, where there is IPv6, /proc/net/snmp6.
func readNet(r *Reader, s *State) error {
	s.Net = make(map[string]float64, 300)
	var missing error
	for _, file := range []string{"proc/net/snmp", "proc/net/netstat"} {
		text, err := r.file(file)
		if err != nil {
			missing = err
			continue
		}
		network.ParseCounters(text, s.Net)
	}
	if text, err := r.file("proc/net/snmp6"); err == nil {
		network.ParseCounters6(text, s.Net)
	}
	if errors.Is(missing, fs.ErrNotExist) && len(s.Net) > 0 {
		return nil
	}
	return missing
}

// readNetwork reads a part of what package network knows.
func readNetwork(part func(r *Reader, n *network.State, s *State) error) func(r *Reader, s *State) error {
	return func(r *Reader, s *State) error {
		if r.network == nil {
			r.network = network.NewReader(r.root)
		}
		if s.Network == nil {
			s.Network = &network.State{}
		}
		return part(r, s.Network, s)
	}
}

func readSockets(r *Reader, n *network.State, s *State) error {
	processes := make([]network.Process, len(s.Processes))
	for i := range s.Processes {
		p := &s.Processes[i]
		processes[i] = network.Process{PID: p.PID, Parent: p.Parent, Name: p.Name, Busy: p.Detailed}
	}
	return r.network.ReadSockets(n, s.At, processes)
}

func readQueues(r *Reader, n *network.State, _ *State) error { return r.network.ReadQueues(n) }

func readSoftnet(r *Reader, n *network.State, _ *State) error { return r.network.ReadSoftnet(n) }

func readConntrack(r *Reader, n *network.State, _ *State) error { return r.network.ReadConntrack(n) }
