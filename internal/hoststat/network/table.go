package network

import (
	"cmp"
	"errors"
	"maps"
	"net/netip"
	"runtime"
	"slices"
	"syscall"
	"time"
)

const (
	mostTries        = 5 // readings in which the owner of a connection is looked for; it may be out of sight
	mostFlows        = 192
	mostListeners    = 128
	mostDestinations = 8
	// costShare is the share of a CPU that readings of connections may use. The kernel takes
	// about 2.5 microseconds per connection, so 1,000 are read every 2 s, and some 2 ms for an empty
	// table on a host with 24 GiB of memory.
	costShare = 1. / 800
	// longestGap bounds the seconds between two readings, so that a short recording has two:
	// 50,000 connections then take 1.6 % of a CPU.
	longestGap = 8
	// gapShare is the share of the time since the first reading that may pass between two: a long
	// recording needs no more of them than a short one.
	gapShare = 1. / 10
	// waitShare is the same for connections in TIME_WAIT, which change little.
	waitShare = 1. / 2000
)

// table adds up the connections of this host.
type table struct {
	// Owner is the process that holds a socket with an inode; 0 if that is unknown.
	Owner func(inode uint32) (pid int, program string)

	flows       map[flowKey]*Flow
	listeners   map[listenerKey]*Listener
	known       map[uint64]*before
	taken, last float64       // instants of the last readings of connections and of listeners
	began       float64       // instant of the first reading of connections
	due         float64       // instant of the next reading of connections
	waitDue     float64       // of those in TIME_WAIT
	readings    float64       // of connections
	waited      time.Duration // cost of those in TIME_WAIT, of the reading in progress
	unknown     int           // connections of which the owner is unknown
	unnamed     int           // Unix sockets of which it is unknown
	crowded     []Destination
	unix        unixTable
	files       *socketFiles // read instead of asking the kernel, unless nil
}

// Reading is what a table knows at an instant.
type Reading struct {
	Flows        []Flow
	Listeners    []Listener
	Destinations []Destination // by falling number of ports
	Readings     float64       // of connections so far
}

type flowKey struct {
	space, pid, port int
	peer             string
}

type listenerKey struct {
	space int
	at    netip.AddrPort
	inode uint32
}

// before is what a connection had counted at the last reading.
type before struct {
	tcpInfo
	generation float64
	tries      int // to find its owner
	flow       *Flow
}

// newTable makes an empty table.
func newTable(owner func(inode uint32) (pid int, program string)) *table {
	return &table{Owner: owner, flows: map[flowKey]*Flow{}, listeners: map[listenerKey]*Listener{}, known: map[uint64]*before{}, unix: unixTable{map[unixKey]*unixListener{}}, taken: -1, last: -1}
}

// Read takes a reading at an instant in seconds, of this network namespace and of those of some
// processes. With many connections, it returns the flows of an earlier reading.
func (t *table) Read(k Kernel, at float64, spaces []int) (*Reading, error) {
	if t.files == nil {
		if err := t.readListeners(k, at, spaces); err != nil {
			return nil, err
		}
	}
	if at >= t.due {
		cost, err := timed(func() error {
			if t.files != nil { // they hold all sockets
				if err := t.readListeners(k, at, spaces); err != nil {
					return err
				}
			}
			return t.readConnections(k, at, spaces)
		})
		if err != nil {
			return nil, err
		}
		if t.readings == 0 {
			t.began = at
		}
		t.due = at + gap((cost-t.waited).Seconds(), at-t.began)
		t.waited = 0
		t.readings++
	}
	r := &Reading{Destinations: t.crowded, Readings: t.readings}
	for _, f := range t.flows {
		r.Flows = append(r.Flows, *f)
	}
	for _, l := range t.listeners {
		r.Listeners = append(r.Listeners, *l)
	}
	for _, l := range t.unix.listeners {
		r.Listeners = append(r.Listeners, l.Listener)
	}
	slices.SortFunc(r.Flows, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(b.SentBytes+b.ReceivedBytes, a.SentBytes+a.ReceivedBytes), cmp.Compare(a.Port, b.Port), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Peer, b.Peer))
	})
	slices.SortFunc(r.Listeners, func(a, b Listener) int {
		return cmp.Or(cmp.Compare(a.Space, b.Space), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Address, b.Address))
	})
	return r, nil
}

// gap is the time until the next reading of connections, by the CPU time of the last one and the time since the first, in seconds.
func gap(cost, since float64) float64 {
	return min(longestGap, max(cost/costShare, since*gapShare))
}

// timed runs a function and tells the CPU time that its thread used.
func timed(run func() error) (time.Duration, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const thread = 1 // RUSAGE_THREAD
	var a, b syscall.Rusage
	_ = syscall.Getrusage(thread, &a) // without it, a cost of 0
	err := run()
	_ = syscall.Getrusage(thread, &b)
	used := b.Utime.Nano() + b.Stime.Nano() - a.Utime.Nano() - a.Stime.Nano()
	return time.Duration(used), err
}

// dump reads the sockets in some states in all spaces.
func (t *table) dump(k Kernel, spaces []int, states uint32, use func(space int, c connection)) error {
	if t.files != nil {
		return t.files.dump(spaces, states, use)
	}
	return dump(k, spaces, states, use)
}

// dump asks the kernel for the sockets in some states in all spaces. A namespace that cannot be entered is
// left out; this one's is an error.
func dump(k Kernel, spaces []int, states uint32, use func(space int, c connection)) error {
	details := states != 1<<listening && states != 1<<timeWait
	for _, space := range append([]int{0}, spaces...) {
		err := k.Dump(space, inetDiag, request(states, details), func(kind uint16, body []byte) {
			if c, ok := parseConnection(body); ok && kind == tcpRequest {
				use(space, c)
			}
		})
		if err != nil && space == 0 {
			if errors.Is(err, syscall.ENOENT) {
				return errors.New("the kernel module tcp_diag is not loaded: modprobe tcp_diag")
			}
			return err
		}
	}
	return nil
}

func (t *table) readListeners(k Kernel, at float64, spaces []int) error {
	passed := at - t.last
	first := t.last < 0
	seen := map[listenerKey]bool{}
	err := t.dump(k, spaces, 1<<listening, func(space int, c connection) {
		key := listenerKey{space, c.local, c.inode}
		l := t.listeners[key]
		if l == nil {
			if len(t.listeners) >= mostListeners {
				return
			}
			l = &Listener{Space: space, Address: c.local.Addr().String(), Port: int(c.local.Port())}
			t.listeners[key] = l
		}
		if l.PID == 0 {
			l.PID, l.Program = t.Owner(c.inode)
		}
		seen[key] = true
		l.Queue, l.Backlog, l.Drops = float64(c.queue), float64(c.room), float64(c.memory.drops)
		if first {
			return
		}
		if c.queue > 0 {
			l.Waiting += passed
		}
		if t.files == nil && c.queue >= max(1, c.room) {
			l.Full += passed
		}
	})
	if err != nil {
		return err
	}
	if first {
		passed = 0
	}
	if t.files == nil {
		t.unnamed = t.unix.read(k, passed, spaces, t.Owner)
	}
	t.last = at
	maps.DeleteFunc(t.listeners, func(key listenerKey, _ *Listener) bool { return !seen[key] })
	return nil
}

func (t *table) readConnections(k Kernel, at float64, spaces []int) error {
	if len(t.flows) >= mostFlows {
		maps.DeleteFunc(t.flows, func(_ flowKey, f *Flow) bool { return f.Connections == 0 })
	}
	t.unknown = 0
	for _, f := range t.flows {
		f.Connections, f.SendBuffer, f.ReceiveBuffer, f.SendWindow = 0, 0, 0, 0
	}
	ports := map[[2]int]*Listener{}
	for key, l := range t.listeners {
		l.Connections = 0
		ports[[2]int{key.space, l.Port}] = l
	}
	connected := map[netip.AddrPort]float64{}
	err := t.dump(k, spaces, 1<<established|1<<closeWait, func(space int, c connection) {
		listener := ports[[2]int{space, int(c.local.Port())}]
		if listener != nil {
			listener.Connections++
		} else if space == 0 {
			connected[c.remote]++
		}
		t.add(at, space, &c, listener)
	})
	if err != nil {
		return err
	}
	if t.files == nil {
		t.unix.count(k, spaces)
	}
	maps.DeleteFunc(t.known, func(_ uint64, b *before) bool { return b.generation != at })
	t.taken = at
	if at < t.waitDue {
		return nil
	}
	cost, err := timed(func() error {
		return t.dump(k, nil, 1<<timeWait, func(space int, c connection) {
			if space == 0 && ports[[2]int{0, int(c.local.Port())}] == nil {
				connected[c.remote]++
			}
		})
	})
	t.crowds(connected)
	t.waitDue = at + cost.Seconds()/waitShare
	t.waited = cost
	return err
}

// add adds what a connection did since the last reading to its flow.
func (t *table) add(at float64, space int, c *connection, listener *Listener) {
	was := t.known[c.cookie]
	fresh := was == nil
	if fresh {
		was = &before{flow: t.flow(space, c, listener)}
		if t.taken < 0 {
			was.tcpInfo = c.info // what it did before the first reading does not count
		}
		t.known[c.cookie] = was
	}
	if was.flow.PID == 0 && !fresh {
		was.flow = t.flow(space, c, listener)
	}
	if was.flow.PID == 0 && c.inode != 0 && was.tries < mostTries {
		was.tries++
		t.unknown++
	}
	was.generation = at
	f, now, old := was.flow, &c.info, &was.tcpInfo
	f.Connections++
	f.SendBuffer = max(f.SendBuffer, float64(c.memory.sendBuffer))
	f.ReceiveBuffer = max(f.ReceiveBuffer, float64(c.memory.receiveBuffer))
	f.SendWindow, f.SegmentSize = max(f.SendWindow, float64(now.window)), float64(now.mss)
	if !now.known {
		return
	}
	sent := since(old.out, now.out)
	if now.out == 0 {
		sent = since(old.acked, now.acked)
	}
	received := since(old.received, now.received)
	f.SentBytes, f.ReceivedBytes = f.SentBytes+sent, f.ReceivedBytes+received
	f.Segments += float64(now.segments - old.segments)
	f.SegmentsIn += float64(now.segmentsIn - old.segmentsIn)
	f.Retransmits += float64(now.retransmits - old.retransmits)
	f.Duplicates += float64(now.duplicates - old.duplicates)
	busy := since(old.busy, now.busy)
	if passed := at - t.taken; !fresh && t.taken >= 0 && sent+received+busy+float64(c.memory.unread) > 0 {
		f.Time += passed
		f.Busy += busy * 1e-6
		f.ReceiverLimited += since(old.receiver, now.receiver) * 1e-6
		f.BufferLimited += since(old.buffer, now.buffer) * 1e-6
		f.RTTTime += float64(now.rtt) * 1e-6 * passed
		f.MinRTTTime += float64(min(now.minRTT, now.rtt)) * 1e-6 * passed
		f.FlightTime += float64(now.unacked) * passed
		f.UnreadTime += float64(c.memory.unread) / max(1, float64(c.memory.receiveBuffer)) * passed
	}
	was.tcpInfo = *now
}

func since(old, now uint64) float64 {
	if now < old {
		return 0
	}
	return float64(now - old)
}

// flow is the flow of a connection.
func (t *table) flow(space int, c *connection, listener *Listener) *Flow {
	key := flowKey{space: space}
	var program string
	key.pid, program = t.Owner(c.inode)
	if listener != nil {
		key.port, key.peer = int(c.local.Port()), c.remote.Addr().String()
		if key.pid == 0 {
			key.pid, program = listener.PID, listener.Program
		}
	} else {
		key.peer = c.remote.String()
	}
	if len(t.flows) >= mostFlows && t.flows[key] == nil {
		key.peer = ""
		if len(t.flows) >= 2*mostFlows {
			key = flowKey{space: space}
			program = ""
		}
	}
	f := t.flows[key]
	if f == nil {
		f = &Flow{Space: space, PID: key.pid, Program: program, Port: key.port, Peer: key.peer}
		t.flows[key] = f
	}
	return f
}

// leastPorts is the number of connections to one peer, those in TIME_WAIT included, above which
// a host may run out of local ports; the usual range has 28,232.
const leastPorts = 5000

// crowds finds the peers to which most local ports are in use.
func (t *table) crowds(connected map[netip.AddrPort]float64) {
	t.crowded = nil
	for peer, n := range connected {
		if n >= leastPorts {
			t.crowded = append(t.crowded, Destination{peer.String(), n})
		}
	}
	slices.SortFunc(t.crowded, func(a, b Destination) int { return cmp.Or(cmp.Compare(b.Ports, a.Ports), cmp.Compare(a.Peer, b.Peer)) })
	t.crowded = t.crowded[:min(mostDestinations, len(t.crowded))]
}
