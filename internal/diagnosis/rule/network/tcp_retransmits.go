package network

import (
	"math"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/network"
)

const (
	// nearLoss, emptyLoss and farLoss are shares of segments lost. A local network loses next to none. TCP
	// itself fills long paths until they drop some; 3 % halves the rate of such a path again. Where no queue
	// lengthens the round trip, it is not TCP that made it drop them.
	nearLoss, emptyLoss, farLoss = 0.005, 0.015, 0.03
	near                         = 0.01 // round trip of a local network at most, in seconds
	emptyQueue                   = 1.5  // ratio of the round trip to the shortest below which no queue stands
	leastSegmentsLost            = 10   // segments, for a share to mean something
	// shortestTimeout is TCP_RTO_MIN of include/net/tcp.h in seconds. A loss costs it where too
	// few segments follow to be missed sooner.
	shortestTimeout = 0.2
	few             = 4 // segments in flight with which a loss is noticed by a timeout
)

// tcpRetransmits finds flows that lose segments. Segments sent again without need, which the peer
// reports, and connections that a full listen queue ignores are no loss.
var tcpRetransmits = diagnosis.Rule{
	Name: "tcp_retransmits", Area: diagnosis.Network,
	Doc:      "a connection's segments are lost and sent again",
	Needs:    []string{"sockets"},
	Lacks:    noTime,
	Explains: []string{"network_delay", "socket_buffers"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		seen := map[string]bool{}
		for _, f := range flows(e) {
			lost := f.Retransmits - f.Duplicates
			part := lost / max(f.Segments, lost)
			limit := farLoss
			switch least := floor(e, f); {
			case least < near:
				limit = nearLoss
			case f.RTT() < emptyQueue*least:
				limit = emptyLoss
			}
			if loops(f) || lost*e.Mean.Seconds < leastSegmentsLost || part < limit || refused(e, f) || seen[address(f)] {
				continue
			}
			seen[address(f)] = true
			found = append(found, diagnosis.Finding{
				Subject:    owner(f),
				Says:       "{loss} of the segments that {subject} sends to " + f.Peer + " are lost and sent again, {lost}.",
				Confidence: diagnosis.Certain,
				Impact:     costOfLoss(f, lost, part),
				Evidence:   []diagnosis.Fact{diagnosis.Share("loss", part), diagnosis.Rate("lost", lost), diagnosis.Seconds("round trip", f.RTT()), diagnosis.Number("segments in flight", f.Flight())},
				Change: &diagnosis.Change{
					Says:    "find where packets to " + address(f) + " are lost: cable, port, a full queue or a rate limit on the way; until then congestion control bbr keeps its rate at such a loss",
					Command: "ip -s -s link; tc -s qdisc; ethtool -S DEVICE | grep -i -e err -e drop   # then: sysctl -w net.ipv4.tcp_congestion_control=bbr",
				},
			})
		}
		return found
	},
}

// costOfLoss is the share of the time of a flow's connections that losses take: a timeout or a
// round trip each; all of the busy time where loss holds the window down to what Mathis et al.,
// The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm (1997), give for it.
func costOfLoss(f *network.Flow, lost, part float64) float64 {
	repair := f.RTT()
	if f.Flight() < few {
		repair = max(shortestTimeout, 2*f.RTT())
	}
	cost := lost * repair / f.Time
	if window := 1.22 / math.Sqrt(part); f.Flight() >= few && f.Flight() < 2*window {
		cost = max(cost, f.Busy/f.Time)
	}
	return min(1, cost)
}
