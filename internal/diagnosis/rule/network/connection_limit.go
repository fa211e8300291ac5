package network

import (
	"fmt"
	"math"
	"slices"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/network"
)

const (
	fullUp     = 0.95 // share of a server's connections in use at which it is full
	reserved   = 3    // connections that PostgreSQL keeps for superusers: superuser_reserved_connections
	nearlyFull = 0.8  // the same while connections that it closes at once come and go
	cutOff     = 0.2  // resets per new connection of such a server
	mostReset  = 0.5  // the same of one whose limit is not known
	turnedOff  = 1.   // new connections per second, of a server without room for them
	waits      = 0.5  // share of the time with connections waiting behind an idle server
	idleUse    = 0.5  // CPUs that a program uses at most while it is called idle
)

// connectionLimit finds servers at their limit of connections: new ones wait, or are closed at
// once. A pool that is as large as the limit looks alike, and brings no new connections; a busy
// server leaves connections waiting too, and one without open files left is file_limit.
var connectionLimit = diagnosis.Rule{
	Name: "connection_limit", Area: diagnosis.Network,
	Doc:      "a server is at its limit of connections",
	Needs:    []string{"sockets"},
	Lacks:    noSockets,
	Explains: []string{"listen_queue", "tcp_retransmits", "network_delay"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		for i := range e.Mean.Network.Listeners {
			l := inUse(e, i)
			if !askedPID(e, l.PID) || slices.ContainsFunc(found, func(f diagnosis.Finding) bool { return f.Subject == server(l) }) {
				continue
			}
			arriving := 0.
			if !l.Unix() {
				arriving = counted(e, l, "Tcp.PassiveOpens")
			}
			waiting := l.Waiting >= often || l.Drops > 0
			switch {
			case l.Limit > 0 && isFull(e, l, arriving) && (waiting || arriving >= turnedOff):
				f := fullServer(l, waiting, arriving)
				if resetting(e, l, arriving) {
					f.Confidence = diagnosis.Certain
				}
				found = append(found, f)
			case l.Limit > 0 && l.Config == "" && l.Connections >= 1 && steady(e, l) && resetsMost(e, l, arriving):
				found = append(found, resets(e, l, arriving))
			case l.Limit == 0 && l.Waiting >= waits && l.Queue >= 1 && steady(e, l) && lazy(e, l.Program) && !outOfFiles(e, l.Program):
				found = append(found, notAccepting(l))
			}
		}
		return found
	},
}

// inUse is a listening socket with the connections of all sockets of its program: a limit is for
// them together.
func inUse(e *diagnosis.Evidence, at int) *network.Listener {
	l := e.Mean.Network.Listeners[at]
	if l.Limit == 0 || l.PID == 0 {
		return &l
	}
	l.Connections = 0
	for i := range e.Mean.Network.Listeners {
		if x := &e.Mean.Network.Listeners[i]; x.PID == l.PID {
			l.Connections += x.Connections
		}
	}
	return &l
}

// isFull reports whether a server is at its limit. PostgreSQL keeps some connections for
// superusers; one that closes connections at once resets them.
func isFull(e *diagnosis.Evidence, l *network.Listener, arriving float64) bool {
	full := fullUp * l.Limit
	if l.Program == "postgres" {
		full = min(full, l.Limit-reserved)
	}
	return l.Connections >= full || l.Connections >= nearlyFull*l.Limit && resetting(e, l, arriving)
}

// resetting reports whether a good part of the new connections is reset.
func resetting(e *diagnosis.Evidence, l *network.Listener, arriving float64) bool {
	if l.Unix() {
		return false
	}
	resets := max(counted(e, l, "Tcp.EstabResets"), counted(e, l, "Tcp.OutRsts"))
	return resets >= max(turnedOff, cutOff*arriving)
}

// counted is the rate of a counter in the namespace of a listening socket.
func counted(e *diagnosis.Evidence, l *network.Listener, name string) float64 {
	if l.Space == 0 {
		return e.Mean.Net[name]
	}
	for _, s := range e.Mean.Network.Spaces {
		if s.PID == l.Space {
			return s.Net[name]
		}
	}
	return 0
}

func fullServer(l *network.Listener, waiting bool, arriving float64) diagnosis.Finding {
	f := diagnosis.Finding{
		Subject:    server(l),
		Says:       "{subject} has {connections} of {limit} connections (" + l.Setting + ") and refuses others: new ones meet the limit at {new}.",
		Confidence: diagnosis.Likely,
		Impact:     min(1, max(0.5, l.Waiting, arriving/(arriving+l.Connections))),
		Evidence:   []diagnosis.Fact{diagnosis.Number("connections", l.Connections), diagnosis.Number("limit", l.Limit), diagnosis.Rate("new", arriving), diagnosis.Number("in the queue", l.Queue)},
		Change:     limitChange(l),
	}
	if waiting {
		f.Confidence = diagnosis.Certain
		f.Says = "{subject} has {connections} of {limit} connections (" + l.Setting + ") and leaves {in the queue} others waiting."
	}
	return f
}

// resetsMost reports whether most new connections are reset, and not by a server that is full.
func resetsMost(e *diagnosis.Evidence, l *network.Listener, arriving float64) bool {
	if arriving < turnedOff || counted(e, l, "Tcp.OutRsts") < mostReset*arriving {
		return false
	}
	return !slices.ContainsFunc(e.Mean.Network.Listeners, func(x network.Listener) bool { return x.Limit > 0 && isFull(e, &x, arriving) })
}

// resets is a known server with a limit that is not where it usually is.
// Resets are counted for all servers of the host, so another one with clients may cause them.
func resets(e *diagnosis.Evidence, l *network.Listener, arriving float64) diagnosis.Finding {
	confidence, resets := diagnosis.Likely, counted(e, l, "Tcp.OutRsts")
	if slices.ContainsFunc(e.Mean.Network.Listeners, func(x network.Listener) bool { return x.Port != l.Port && x.Space == l.Space && x.Connections >= 1 }) {
		confidence = diagnosis.Possible
	}
	return diagnosis.Finding{
		Subject:    server(l),
		Says:       "{subject} stays at {connections} connections, while new ones come at {new} and are reset at {reset}: it seems to be at its limit (" + l.Setting + ").",
		Confidence: confidence,
		Impact:     min(1, resets/(resets+arriving)),
		Evidence:   []diagnosis.Fact{diagnosis.Number("connections", l.Connections), diagnosis.Rate("new", arriving), diagnosis.Rate("reset", resets)},
		Change:     limitChange(l),
	}
}

// limitChange raises the limit to the next power of two above its double.
func limitChange(l *network.Listener) *diagnosis.Change {
	to := math.Exp2(math.Ceil(math.Log2(2 * l.Limit)))
	if l.Config == "" && l.Connections < nearlyFull*l.Limit {
		to = math.Exp2(math.Ceil(math.Log2(2 * max(l.Connections, 500)))) // the limit is another than the preset
	}
	where := l.Config
	if where == "" {
		where = "the server's settings, where it is a preset"
	}
	c := &diagnosis.Change{Says: fmt.Sprintf("raise %s of %s in %s, or have clients share connections through a pool", l.Setting, l.Program, where)}
	switch l.Program {
	case "postgres":
		c.Command = fmt.Sprintf("psql -c 'ALTER SYSTEM SET max_connections = %.0f'   # takes a restart; a pool such as pgbouncer needs none", to)
	case "redis-server":
		c.Command = fmt.Sprintf("redis-cli -p %d config set maxclients %.0f", l.Port, to)
	case "valkey-server":
		c.Command = fmt.Sprintf("valkey-cli -p %d config set maxclients %.0f", l.Port, to)
	case "mariadbd", "mysqld":
		c.Command = fmt.Sprintf("mysql -e 'SET GLOBAL max_connections = %.0f'", to)
	case "memcached":
		c.Command = fmt.Sprintf("memcached -c %.0f   # restart with it", to)
	case "nginx":
		c.Command = "nginx -s reload   # after the change of worker_connections"
	}
	return c
}

// notAccepting is a server with a limit that is not known.
func notAccepting(l *network.Listener) diagnosis.Finding {
	return diagnosis.Finding{
		Subject:    server(l),
		Says:       fmt.Sprintf("{subject} is idle, has {connections} connections on %s, and leaves {in the queue} others waiting: it seems to be at a limit of connections of its own.", place(l)),
		Confidence: diagnosis.Likely,
		Impact:     min(1, max(0.3, l.Queue/(l.Queue+max(1, l.Connections)))),
		Evidence:   []diagnosis.Fact{diagnosis.Number("connections", l.Connections), diagnosis.Number("in the queue", l.Queue), diagnosis.Share("time with connections waiting", l.Waiting)},
		Change:     &diagnosis.Change{Says: "raise the limit of connections in the settings of " + l.Program + ", or its number of workers, or have clients share connections through a pool"},
	}
}

// steady reports whether the connections of a listening socket stay as many as they are.
func steady(e *diagnosis.Evidence, l *network.Listener) bool {
	least, most := math.Inf(1), 0.
	for i := range e.Intervals {
		n := e.Intervals[i].Network
		if n == nil {
			continue
		}
		for _, x := range n.Listeners {
			if x.Space == l.Space && x.Port == l.Port && x.Address == l.Address {
				least, most = min(least, x.Connections), max(most, x.Connections)
			}
		}
	}
	return most > 0 && most-least <= max(2, 0.1*most)
}

// lazy reports whether the processes of a name use little CPU time and do not wait for any.
func lazy(e *diagnosis.Evidence, name string) bool {
	busy := 0.
	for i := range e.Mean.Processes {
		if p := &e.Mean.Processes[i]; p.Name == name {
			busy += p.Busy() + p.RunDelay
		}
	}
	return name != "" && busy < idleUse
}
