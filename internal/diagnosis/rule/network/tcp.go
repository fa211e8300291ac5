package network

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/network"
)

// noSockets is what rules about connections lack.
func noSockets(e *diagnosis.Evidence) string {
	if e.Mean.Network == nil {
		return "no sockets"
	}
	return ""
}

// noTime is for rules about what connections did over a time.
func noTime(e *diagnosis.Evidence) string {
	if reason := noSockets(e); reason != "" {
		return reason
	}
	if why := e.Mean.Network.Partial; why != "" {
		return "no counters of connections: " + why
	}
	if e.Mean.Network.Readings == 0 {
		return "no two readings of connections: watch for longer"
	}
	for i := range e.Mean.Network.Flows {
		if f := &e.Mean.Network.Flows[i]; f.Time > 0 && f.RTTTime == 0 {
			return "no round-trip times of connections: the kernel is older than 4.9"
		}
	}
	return ""
}

// flows are the flows that carried data and that the question is about, largest first.
func flows(e *diagnosis.Evidence) (all []*network.Flow) {
	for i := range e.Mean.Network.Flows {
		f := &e.Mean.Network.Flows[i]
		if f.Time > 0 && !slices.Contains(e.Own, f.PID) && askedPID(e, f.PID) {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b *network.Flow) int {
		return cmp.Compare(b.SentBytes+b.ReceivedBytes, a.SentBytes+a.ReceivedBytes)
	})
	return all
}

// askedPID reports whether the question is about a process.
func askedPID(e *diagnosis.Evidence, pid int) bool {
	return len(e.Focus) == 0 || slices.Contains(e.Focus, pid)
}

// address is the peer's address without a port.
func address(f *network.Flow) string {
	if at, err := netip.ParseAddrPort(f.Peer); err == nil {
		return at.Addr().Unmap().String()
	}
	return f.Peer
}

// loops reports whether a flow stays on this host's loopback device, where nothing is lost and
// nothing is far.
func loops(f *network.Flow) bool {
	at, err := netip.ParseAddr(address(f))
	return err == nil && at.IsLoopback()
}

// floor is the shortest round trip to the peer of a flow that any connection to it saw, in seconds.
func floor(e *diagnosis.Evidence, f *network.Flow) float64 {
	least := f.MinRTT()
	for i := range e.Mean.Network.Flows {
		if other := &e.Mean.Network.Flows[i]; other.Time > 0 && address(other) == address(f) {
			least = min(least, other.MinRTT())
		}
	}
	return least
}

// owner names the program of a flow.
func owner(f *network.Flow) string { return program(f.Program, f.PID, f.Port) }

// server names the program of a listening socket.
func server(l *network.Listener) string {
	if l.PID == 0 && l.Unix() {
		return "Unix socket " + l.Address
	}
	return program(l.Program, l.PID, l.Port)
}

// place is where a listening socket is reached.
func place(l *network.Listener) string {
	if l.Unix() {
		return "Unix socket " + l.Address
	}
	return "port " + strconv.Itoa(l.Port)
}

func program(name string, pid, port int) string {
	switch {
	case pid > 0:
		return name + " (" + strconv.Itoa(pid) + ")"
	case port > 0:
		return "port " + strconv.Itoa(port)
	}
	return "a program of another user"
}

// other is the other end of a flow of a client if it is on this host, in any namespace.
func other(e *diagnosis.Evidence, f *network.Flow) *network.Flow {
	at, err := netip.ParseAddrPort(f.Peer)
	if err != nil {
		return nil
	}
	for i := range e.Mean.Network.Flows {
		x := &e.Mean.Network.Flows[i]
		if x.Port == int(at.Port()) && x.Time > 0 {
			return x
		}
	}
	return nil
}

// refused reports whether the server at the other end of a client's flow, on this host, drops
// connections.
func refused(e *diagnosis.Evidence, f *network.Flow) bool {
	at, err := netip.ParseAddrPort(f.Peer)
	return err == nil && slices.ContainsFunc(e.Mean.Network.Listeners, func(l network.Listener) bool {
		return l.Port == int(at.Port()) && connectionsDropped(e, &l) > 0
	})
}

// setting is the number at a position of a setting of the host; 0 if there is none.
func setting(e *diagnosis.Evidence, name string, at int) float64 {
	f := strings.Fields(e.Facts.Settings[name])
	if at >= len(f) {
		return 0
	}
	n, _ := strconv.ParseFloat(f[at], 64) // not a number is none
	return n
}
