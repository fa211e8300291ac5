package router

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Request is what a router is asked: a line of JSON on a connection to its socket.
type Request struct {
	Set   *Settings   `json:"set,omitempty"`   // settings to have from now on
	Pings [][2]string `json:"pings,omitempty"` // names of ports, between which round trips are measured
}

// State is the answer.
type State struct {
	Error    string          `json:"error,omitempty"`
	Settings Settings        `json:"settings"`
	Counters Counters        `json:"counters"`
	CPU      time.Duration   `json:"cpu"` // CPU time of the process
	Pings    []time.Duration `json:"pings,omitempty"`
}

// Counters are sums over all ports.
type Counters struct {
	Packets uint64 `json:"packets"` // delivered
	Bytes   uint64 `json:"bytes"`   // of them
	Full    uint64 `json:"full"`    // packets dropped because a queue was full
	Refused uint64 `json:"refused"` // packets that a device did not take
	Unknown uint64 `json:"unknown"` // packets for no port, such as those of other protocols
}

// Ask sends a request over a connection to the socket of a router.
func Ask(conn io.ReadWriter, q Request) (s State, err error) {
	if err := json.NewEncoder(conn).Encode(q); err != nil {
		return s, fmt.Errorf("ask the router: %w", err)
	}
	if err := json.NewDecoder(conn).Decode(&s); err != nil {
		return s, fmt.Errorf("ask the router: %w", err)
	}
	if s.Error != "" {
		return s, errors.New(s.Error)
	}
	return s, nil
}

const (
	asking  = 10 * time.Second // for a request
	pings   = 3                // of which the shortest round trip counts
	pinging = 2 * time.Second  // at most for one
)

// accept answers requests until the listener is closed.
func (r *router) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.requests.Go(func() {
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(asking))
			var q Request
			if json.NewDecoder(io.LimitReader(conn, 1<<20)).Decode(&q) == nil {
				_ = json.NewEncoder(conn).Encode(r.answer(q)) // it may have gone away
			}
		})
	}
}

func (r *router) answer(q Request) (s State) {
	shaper := r.loop.shaper
	if q.Set != nil {
		if err := q.Set.check(); err != nil {
			return State{Error: err.Error()}
		}
		shaper.settings.Store(q.Set)
	}
	for _, ends := range q.Pings {
		took, err := r.ping(ends)
		if err != nil {
			return State{Error: fmt.Sprintf("measure the round trip between %s and %s: %v", ends[0], ends[1], err)}
		}
		s.Pings = append(s.Pings, took)
	}
	s.Settings = *shaper.settings.Load()
	var used unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &used) == nil {
		s.CPU = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	for i := range shaper.links {
		l := &shaper.links[i]
		s.Counters.Packets += l.sent.Load()
		s.Counters.Bytes += l.sentBytes.Load()
		s.Counters.Full += l.full.Load()
		s.Counters.Refused += l.refused.Load()
		s.Counters.Unknown += l.unknown.Load()
	}
	return s
}

// ping is the shortest of some round trips between two ports, as a program in the namespace of the first measures it.
func (r *router) ping(ends [2]string) (shortest time.Duration, err error) {
	ports := r.loop.shaper.ports
	find := func(name string) int { return slices.IndexFunc(ports, func(p Port) bool { return p.Name == name }) }
	from, to := find(ends[0]), find(ends[1])
	if from < 0 || to < 0 {
		return 0, errors.New("no such ports")
	}
	err = apart(func() error {
		if space := r.loop.devices[from].space; space >= 0 {
			if err := unix.Setns(space, unix.CLONE_NEWNET); err != nil {
				return err
			}
		}
		for range pings {
			took, err := connect(ports[to])
			if err != nil {
				return err
			}
			if shortest == 0 || took < shortest {
				shortest = took
			}
		}
		return nil
	})
	return shortest, err
}

// connect is how long a connection to a port takes to be refused: the kernel of the other end answers at once, and no program does.
func connect(to Port) (time.Duration, error) {
	const closed = 9 // discard
	for {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return 0, err
		}
		err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, new(unix.NsecToTimeval(int64(pinging))))
		began := time.Now()
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrInet4{Port: closed, Addr: to.Address.As4()})
		}
		took := time.Since(began)
		_ = unix.Close(fd)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EINPROGRESS):
			return 0, fmt.Errorf("no answer after %v", pinging)
		case err == nil, errors.Is(err, unix.ECONNREFUSED):
			return took, nil
		}
		return 0, err
	}
}
