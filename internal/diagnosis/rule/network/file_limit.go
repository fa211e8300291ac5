package network

import (
	"fmt"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/network"
)

// spare is the number of files that a program at its limit may still open: what it opens and
// closes again at once.
const spare = 1

// fileLimit finds programs with as many open files as their limit allows: accept, connect and
// open fail. A program that keeps below its limit by itself looks alike from far, and is not at it.
var fileLimit = diagnosis.Rule{
	Name: "file_limit", Area: diagnosis.Network,
	Doc:      "a program has as many open files as its limit allows",
	Needs:    []string{"sockets"},
	Lacks:    noSockets,
	Explains: []string{"connection_limit", "listen_queue", "tcp_retransmits", "hot_thread", "network_delay"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		seen := map[string]bool{}
		for i := range e.Mean.Network.Holders {
			h := &e.Mean.Network.Holders[i]
			full := fullTime(e, h.PID)
			if full < often || !askedPID(e, h.PID) || seen[h.Program] {
				continue
			}
			seen[h.Program] = true
			f := diagnosis.Finding{
				Subject:    fmt.Sprintf("%s (%d)", h.Program, h.PID),
				Says:       "{subject} has {open} open files of {limit} allowed: it cannot open files or accept connections.",
				Confidence: diagnosis.Likely,
				Impact:     min(1, full),
				Evidence:   []diagnosis.Fact{diagnosis.Number("open", h.Files), diagnosis.Number("limit", h.Limit), diagnosis.Share("time at the limit", full)},
				Change: &diagnosis.Change{
					Says:    "raise the limit of open files of " + h.Program + " (LimitNOFILE of its systemd unit" + ownFileLimit[h.Program] + ")",
					Command: fmt.Sprintf("prlimit --pid %d --nofile=%.0f:%.0f", h.PID, max(65536, 4*h.Limit), max(65536, 4*h.Limit)),
				},
			}
			if l := portOf(e, h.Program); l != nil && (l.Waiting > often || l.Drops > 0) {
				f.Confidence = diagnosis.Certain
				f.Evidence = append(f.Evidence, diagnosis.Number("connections waiting", l.Queue))
			}
			found = append(found, f)
		}
		return found
	},
}

// ownFileLimit are settings by which servers limit their own files.
var ownFileLimit = map[string]string{
	"nginx": ", worker_rlimit_nofile of nginx", "mariadbd": ", open_files_limit of the server", "mysqld": ", open_files_limit of the server", "memcached": ", -c of memcached",
}

// fullTime is the share of the time in which a process was at its limit of files.
func fullTime(e *diagnosis.Evidence, pid int) float64 {
	full, total := 0., 0.
	for i := range e.Intervals {
		n := e.Intervals[i].Network
		total += e.Intervals[i].Seconds
		if n == nil {
			continue
		}
		for _, h := range n.Holders {
			if h.PID == pid && h.Files >= h.Limit-spare {
				full += e.Intervals[i].Seconds
			}
		}
	}
	return full / max(total, 1e-9)
}

// outOfFiles reports whether a process of a name is at its limit of files.
func outOfFiles(e *diagnosis.Evidence, name string) bool {
	for _, h := range e.Mean.Network.Holders {
		if h.Program == name && fullTime(e, h.PID) >= often {
			return true
		}
	}
	return false
}

// portOf is the listening socket of a program that has most connections waiting.
func portOf(e *diagnosis.Evidence, name string) (most *network.Listener) {
	for i := range e.Mean.Network.Listeners {
		if l := &e.Mean.Network.Listeners[i]; l.Program == name && (most == nil || l.Queue > most.Queue) {
			most = l
		}
	}
	return most
}
