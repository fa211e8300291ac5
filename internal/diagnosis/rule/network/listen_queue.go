package network

import (
	"fmt"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/network"
)

const (
	leastDrops   = 3    // connections, or seconds with a full queue, over the whole time
	synRetry     = 1.0  // seconds until a client tries again: TCP_TIMEOUT_INIT of include/net/tcp.h
	stuck        = 0.9  // share of the time with connections waiting behind a server that does not accept
	leastBacklog = 32   // of a queue that a burst does not fill all the time
	leastFull    = 0.05 // share of the time with a full queue of a Unix socket
)

// listenQueue finds listening sockets whose queue is too short for the bursts of connections
// that come: TCP drops those, behind a Unix socket clients wait or are refused. A server that does
// not accept fills any queue: it is at its limit of connections or of files, or busy.
var listenQueue = diagnosis.Rule{
	Name: "listen_queue", Area: diagnosis.Network,
	Doc:      "connections are dropped, refused or wait because the queue of a listening socket is full",
	Needs:    []string{"sockets"},
	Lacks:    noDrops,
	Explains: []string{"tcp_retransmits", "network_delay"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		if e.Mean.Network.Partial != "" {
			return hostDrops(e)
		}
		for i := range e.Mean.Network.Listeners {
			l := &e.Mean.Network.Listeners[i]
			if !askedPID(e, l.PID) {
				continue
			}
			if l.Unix() && l.Full >= leastFull && l.Full*e.Mean.Seconds >= leastDrops {
				found = append(found, fullUnix(e, l))
			}
			drops := connectionsDropped(e, l)
			if drops*e.Mean.Seconds < leastDrops {
				continue
			}
			waiting := drops * synRetry
			one := diagnosis.Finding{
				Subject:    server(l),
				Says:       fmt.Sprintf("The listen queue of {subject} on port %d is too short with a backlog of {backlog}: it drops {dropped} of connection attempts, which clients repeat a second later.", l.Port),
				Confidence: diagnosis.Certain,
				Impact:     waiting / (waiting + max(1, l.Connections+l.Queue)),
				Evidence:   []diagnosis.Fact{diagnosis.Number("backlog", l.Backlog), diagnosis.Rate("dropped", drops), diagnosis.Number("in the queue", l.Queue), diagnosis.Share("time with a full queue", l.Full)},
				Change:     backlogChange(e, l),
			}
			if l.Waiting >= stuck && l.Backlog >= leastBacklog {
				one.Confidence = diagnosis.Likely
				one.Says = fmt.Sprintf("{subject} does not accept connections on port %d as fast as they come: it drops {dropped}, and {in the queue} wait in a queue of {backlog}.", l.Port)
				one.Change = acceptChange(l)
			}
			found = append(found, one)
		}
		return found
	},
}

// connectionsDropped is how many connections a second a listening socket dropped. The socket's own counter also has other packets that it discards, as resets of
// closed connections (tcp_rcv_state_process of net/ipv4/tcp_input.c); that of its namespace has connections only.
func connectionsDropped(e *diagnosis.Evidence, l *network.Listener) float64 {
	const counter = "TcpExt.ListenDrops"
	of := e.Mean.Net
	for _, space := range e.Mean.Network.Spaces {
		if l.Space != 0 && space.PID == l.Space {
			of = space.Net
			break
		}
	}
	if all, counted := of[counter]; counted {
		return min(l.Drops, all)
	}
	return l.Drops
}

// noDrops is what the rule lacks where neither listening sockets nor the host count dropped
// connections.
func noDrops(e *diagnosis.Evidence) string {
	if reason := noSockets(e); reason != "" {
		return reason
	}
	if _, counted := e.Mean.Net["TcpExt.ListenDrops"]; !counted && e.Mean.Network.Partial != "" {
		return "no counters of dropped connections: " + e.Mean.Network.Partial
	}
	return ""
}

// hostDrops judges the drops of the host where those of each socket are not known: the one with
// most connections waiting is the likely place.
func hostDrops(e *diagnosis.Evidence) []diagnosis.Finding {
	dropped := e.Mean.Net["TcpExt.ListenDrops"]
	var most *network.Listener
	for i := range e.Mean.Network.Listeners {
		if l := &e.Mean.Network.Listeners[i]; l.Waiting > 0 && (most == nil || l.Queue > most.Queue) {
			most = l
		}
	}
	if dropped*e.Mean.Seconds < leastDrops || most == nil || !askedPID(e, most.PID) {
		return nil
	}
	waiting := dropped * synRetry
	return []diagnosis.Finding{{
		Subject:    server(most),
		Says:       "The host drops {dropped} of connection attempts because a listen queue is full, most likely that of {subject} on " + place(most) + ": it had connections waiting {waiting} of the time.",
		Confidence: diagnosis.Likely,
		Impact:     waiting / (waiting + max(1, most.Connections+most.Queue)),
		Evidence:   []diagnosis.Fact{diagnosis.Rate("dropped", dropped), diagnosis.Number("in the queue", most.Queue), diagnosis.Share("waiting", most.Waiting)},
		Change:     &diagnosis.Change{Says: "raise the backlog of " + most.Program + " on " + place(most) + ": " + ownBacklog(most) + "; net.core.somaxconn limits it", Command: "sysctl -w net.core.somaxconn=4096"},
	}}
}

// fullUnix is a Unix socket whose queue is full.
func fullUnix(e *diagnosis.Evidence, l *network.Listener) diagnosis.Finding {
	f := diagnosis.Finding{
		Subject:    server(l),
		Says:       "The listen queue of {subject} on Unix socket " + l.Address + " is full {full} of the time with a backlog of {backlog}: new connections wait, or are refused (EAGAIN).",
		Confidence: diagnosis.Certain,
		Impact:     min(1, l.Full),
		Evidence:   []diagnosis.Fact{diagnosis.Share("full", l.Full), diagnosis.Number("backlog", l.Backlog), diagnosis.Number("in the queue", l.Queue), diagnosis.Number("connections", l.Connections)},
		Change:     backlogChange(e, l),
	}
	if l.Waiting >= stuck && l.Backlog >= leastBacklog {
		f.Says = "{subject} does not accept connections on Unix socket " + l.Address + " as fast as they come: {in the queue} wait in a queue of {backlog}, and it is full {full} of the time."
		f.Change = acceptChange(l)
	}
	return f
}

// acceptChange is that of a server that does not accept.
func acceptChange(l *network.Listener) *diagnosis.Change {
	if workers, known := acceptors[product(l)]; known {
		return &diagnosis.Change{Says: "run more workers of " + l.Program + " (" + workers + "), or find out what they wait for; a longer queue only moves the wait"}
	}
	return &diagnosis.Change{Says: "find out why " + l.Program + " does not accept: too few workers, a limit of its own, or a busy thread; a longer queue only moves the wait"}
}

// product is the name of a server without its version: php-fpm8.3.
func product(l *network.Listener) string { return strings.TrimRight(l.Program, "0123456789.") }

// acceptors are servers whose workers accept a connection each, with the setting for their number.
var acceptors = map[string]string{"php-fpm": "pm.max_children", "gunicorn": "--workers, --threads", "uwsgi": "processes, threads", "puma": "workers, threads", "unicorn": "worker_processes"}

// backlogSettings are the settings of known servers, from their manuals.
var backlogSettings = map[string]string{
	"nginx": "listen ... backlog=4096", "redis-server": "tcp-backlog 4096", "valkey-server": "tcp-backlog 4096",
	"mariadbd": "back_log = 4096", "mysqld": "back_log = 4096", "memcached": "-b 4096", "haproxy": "backlog 4096",
	"apache2": "ListenBackLog 4096", "httpd": "ListenBackLog 4096", "gunicorn": "--backlog 4096", "uwsgi": "--listen 4096",
	"php-fpm": "listen.backlog = 4096", "postgres": "max_connections, of which the queue is twice", "java": "acceptCount of the connector, or the backlog of ServerSocket",
	"node": "the backlog of server.listen",
}

// ownBacklog is the setting of a program for its backlog.
func ownBacklog(l *network.Listener) string {
	if own, known := backlogSettings[product(l)]; known {
		return own
	}
	return "the backlog argument of listen()"
}

// backlogChange names which of both limits holds the queue down: the program's argument of
// listen, or net.core.somaxconn.
func backlogChange(e *diagnosis.Evidence, l *network.Listener) *diagnosis.Change {
	most := setting(e, "proc/sys/net/core/somaxconn", 0)
	own := ownBacklog(l)
	if most > 0 && l.Backlog >= most {
		return &diagnosis.Change{
			Says:    fmt.Sprintf("raise net.core.somaxconn, which limits the backlog to %.0f, and restart %s, whose own backlog (%s) must be as large", most, l.Program, own),
			Command: "sysctl -w net.core.somaxconn=4096",
		}
	}
	change := &diagnosis.Change{Says: fmt.Sprintf("raise the backlog of %s on %s from %.0f: %s", l.Program, place(l), l.Backlog, own)}
	if most < 4096 {
		change.Says += "; net.core.somaxconn allows up to " + fmt.Sprintf("%.0f", most)
		change.Command = "sysctl -w net.core.somaxconn=4096"
	} else if l.Unix() {
		change.Command = "ss -lx src " + l.Address + "   # Send-Q is the backlog; it changes when the server restarts with the new setting"
	} else {
		change.Command = fmt.Sprintf("ss -ltn 'sport = :%d'   # Send-Q is the backlog; it changes when the server restarts with the new setting", l.Port)
	}
	return change
}
