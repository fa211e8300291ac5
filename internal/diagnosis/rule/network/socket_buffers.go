package network

import (
	"fmt"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/network"
)

const (
	// limited is the share of a connection's time that a buffer holds it back.
	limited = 0.3
	// slowReader is the share of a receive buffer that stays full where the program, not the
	// size, is the limit.
	slowReader = 0.3
	// filled is the share of a window that must be under way per round trip: less is a receiver
	// that closes its window because it reads slowly.
	filled = 0.2
	// inFlight is the share of a send buffer that is under way where the buffer is the limit: the
	// kernel sizes buffers for twice the window and the overhead of segments, which leaves at most
	// 0.43 (tcp_sndbuf_expand of net/ipv4/tcp_input.c).
	inFlight = 0.45
	// fullWindowShare is the share of the peer's window that is under way where it is the limit:
	// the peer doubles it as long as half of it is used.
	fullWindowShare = 0.8
	working         = 0.8 // share of the time with data under way
	// small is a buffer that no sender of today starts with: the preset of tcp_rmem is 128 KiB.
	small = 64 << 10
)

// socketBuffers finds flows that a buffer holds back. A program that reads slowly closes the
// window too: its buffer is full, or less than a window passes per round trip.
var socketBuffers = diagnosis.Rule{
	Name: "socket_buffers", Area: diagnosis.Network,
	Doc:      "a send or receive buffer is too small for the rate",
	Needs:    []string{"sockets"},
	Lacks:    noBuffers,
	Explains: []string{"network_delay"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		found = datagrams(e)
		seen := map[string]bool{}
		for _, f := range flows(e) {
			if f.Time < 0.1 || seen[f.Peer] {
				continue
			}
			one := bySender(e, f)
			if one == nil {
				one = byReceiver(e, f)
			}
			if one != nil {
				seen[f.Peer] = true
				found = append(found, *one)
				break // the largest; others of the host follow its settings
			}
		}
		return found
	},
}

// noBuffers is what the rule lacks where connections have no counters. Those of UDP are enough to
// find something, and not to find nothing.
func noBuffers(e *diagnosis.Evidence) string {
	if reason := noTime(e); reason != "" && (e.Mean.Network == nil || len(datagrams(e)) == 0) {
		return reason
	}
	return ""
}

// bySender judges what the sender counted.
func bySender(e *diagnosis.Evidence, f *network.Flow) *diagnosis.Finding {
	receiver, buffer := f.ReceiverLimited/f.Time, f.BufferLimited/f.Time
	rate := f.SentBytes / f.Time
	byBuffer, byWindow := rate*f.RTT() >= filled*f.SendBuffer/2, rate*f.RTT() >= filled*f.SendWindow
	if under := f.Flight() * f.SegmentSize; f.Busy >= working*f.Time && f.RTT() < bloat*floor(e, f) {
		if f.SendBuffer > 0 && under >= inFlight*f.SendBuffer {
			buffer, byBuffer = max(buffer, f.Busy/f.Time), true
		}
		if f.SendWindow > 0 && under >= fullWindowShare*f.SendWindow {
			receiver, byWindow = max(receiver, f.Busy/f.Time), true
		}
	}
	switch {
	case buffer >= limited && buffer >= receiver && byBuffer:
		return &diagnosis.Finding{
			Subject:    owner(f),
			Says:       "The send buffer of {subject}, {buffer}, holds back what it sends to " + f.Peer + " for {limited} of the time.",
			Confidence: diagnosis.Certain,
			Impact:     min(1, buffer),
			Evidence:   []diagnosis.Fact{diagnosis.Bytes("buffer", f.SendBuffer), diagnosis.Share("limited", buffer), diagnosis.Seconds("round trip", f.RTT()), diagnosis.ByteRate("rate per connection", rate)},
			Change:     bufferChange(e, f, side{"send", "w", "SO_SNDBUF", f.SendBuffer}),
		}
	case receiver >= limited && byWindow:
		far := other(e, f)
		if far != nil && far.Unread() >= slowReader || grown(e, f, far) {
			return nil
		}
		one := &diagnosis.Finding{
			Subject:    owner(f),
			Says:       "The receive window of " + f.Peer + ", {window}, holds back what {subject} sends for {limited} of the time.",
			Confidence: diagnosis.Likely,
			Impact:     min(1, receiver),
			Evidence:   []diagnosis.Fact{diagnosis.Bytes("window", f.SendWindow), diagnosis.Share("limited", receiver), diagnosis.Seconds("round trip", f.RTT()), diagnosis.ByteRate("rate per connection", rate)},
			Change: &diagnosis.Change{
				Says:    "raise the receive buffer on " + address(f) + ": tcp_rmem there, or SO_RCVBUF of its program",
				Command: "sysctl -w net.ipv4.tcp_rmem='4096 131072 33554432'   # on " + address(f),
			},
		}
		if far != nil {
			one.Confidence = diagnosis.Certain
			one.Evidence = append(one.Evidence, diagnosis.Bytes("receive buffer", far.ReceiveBuffer))
			one.Change = bufferChange(e, far, side{"receive", "r", "SO_RCVBUF", far.ReceiveBuffer})
		}
		return one
	}
	return nil
}

// grown reports whether the receiver's buffer has outgrown its first size over a short way and may
// grow on: then the program that reads is the limit. Over a long way, a buffer of that size may be
// too small and fixed.
func grown(e *diagnosis.Evidence, f, far *network.Flow) bool {
	first, most, size := setting(e, "proc/sys/net/ipv4/tcp_rmem", 1), setting(e, "proc/sys/net/ipv4/tcp_rmem", 2), f.SendWindow
	if far != nil {
		size = far.ReceiveBuffer
	}
	return floor(e, f) < farAway && size > max(small, first) && size < 0.9*most
}

// byReceiver judges what the receiver of data from another host shows: a small buffer, of which
// a good part passes per round trip.
func byReceiver(e *diagnosis.Evidence, f *network.Flow) *diagnosis.Finding {
	rate := f.ReceivedBytes / f.Time
	if f.ReceiveBuffer == 0 || f.ReceiveBuffer >= small || f.ReceivedBytes < 10*f.SentBytes || f.Unread() >= slowReader || rate*f.RTT() < f.ReceiveBuffer/4 {
		return nil
	}
	return &diagnosis.Finding{
		Subject:    owner(f),
		Says:       "The receive buffer of {subject}, {buffer}, holds back what " + f.Peer + " sends: about one buffer passes per round trip of {round trip}.",
		Confidence: diagnosis.Likely,
		Impact:     limited,
		Evidence:   []diagnosis.Fact{diagnosis.Bytes("buffer", f.ReceiveBuffer), diagnosis.Seconds("round trip", f.RTT()), diagnosis.ByteRate("rate per connection", rate)},
		Change:     bufferChange(e, f, side{"receive", "r", "SO_RCVBUF", f.ReceiveBuffer}),
	}
}

// side is the buffer of one direction.
type side struct {
	name, letter, option string
	size                 float64
}

// bufferChange names the setting that holds a buffer down: the largest size of the host, or the
// program's own option, which ends automatic sizes.
func bufferChange(e *diagnosis.Evidence, f *network.Flow, s side) *diagnosis.Change {
	host := "net.ipv4.tcp_" + s.letter + "mem"
	most := setting(e, "proc/sys/net/ipv4/tcp_"+s.letter+"mem", 2)
	preset := map[string]string{"r": "4096 131072 33554432", "w": "4096 16384 4194304"}[s.letter]
	if most > 0 && s.size >= 0.9*most {
		return &diagnosis.Change{
			Says:    fmt.Sprintf("raise the largest %s buffer, the third number of %s", s.name, host),
			Command: fmt.Sprintf("sysctl -w %s='%s'", host, preset),
		}
	}
	return &diagnosis.Change{
		Says: fmt.Sprintf("do not set %s in %s, or set it to the rate times the round trip: without the option the kernel sizes the %s buffer up to %s and the limit of net.core.%smem_max does not apply",
			s.option, owner(f), s.name, host, s.letter),
		Command: fmt.Sprintf("sysctl net.core.%smem_max %s   # the limits of this host; the option is in the program's settings", s.letter, host),
	}
}
