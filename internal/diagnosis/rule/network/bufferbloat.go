package network

import (
	"fmt"
	"strings"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/network"
)

const (
	bloat      = 4.    // round trip in multiples of the shortest one
	standing   = 0.02  // seconds that packets wait in a queue; CoDel aims at 0.005
	fullWindow = 8     // segments in flight of a flow that fills a queue
	bulk       = 0.5   // share of a connection's time with data under way
	deepQueue  = 0.010 // seconds that the queue of a device holds at its rate
)

// bufferbloat finds flows that fill a queue in which all others wait. A busy receiver and
// delayed acknowledgements lengthen round trips too, but with few segments in flight; a long way
// shows in the shortest round trip.
var bufferbloat = diagnosis.Rule{
	Name: "bufferbloat", Area: diagnosis.Network,
	Doc:      "a standing queue on the way multiplies round trips",
	Needs:    []string{"sockets"},
	Lacks:    noTime,
	Explains: []string{"tcp_retransmits", "network_delay"},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		f := bloated(e)
		if f == nil {
			return nil
		}
		least := floor(e, f)
		one := diagnosis.Finding{
			Subject:    owner(f),
			Says:       "{subject} keeps a queue full on the way to " + f.Peer + ": a round trip takes {round trip} instead of {shortest}, for everything that shares the queue.",
			Confidence: diagnosis.Likely,
			Impact:     1 - least/f.RTT(),
			Evidence: []diagnosis.Fact{
				diagnosis.Seconds("round trip", f.RTT()), diagnosis.Seconds("shortest", least), diagnosis.Number("segments in flight", f.Flight()), diagnosis.ByteRate("sent", f.SentBytes),
			},
			Change: &diagnosis.Change{
				Says:    "keep the queue short: limit the rate a little below that of the narrowest link with cake or fq_codel in front of it, or send with congestion control bbr",
				Command: "sysctl -w net.core.default_qdisc=fq net.ipv4.tcp_congestion_control=bbr",
			},
			Prediction: &diagnosis.Prediction{Low: least/f.RTT() - 1, High: 2*least/f.RTT() - 1, Of: "response time", Basis: "round trips without the queue"},
		}
		if q := deepest(e); q != nil {
			one.Confidence = diagnosis.Certain
			one.Evidence = append(one.Evidence, diagnosis.Bytes("queue of "+q.Device, q.Bytes))
			one.Change = queueChange(q)
		}
		return append(found, one)
	},
}

// bloated is a flow that keeps a queue full on its way; nil if none does.
func bloated(e *diagnosis.Evidence) *network.Flow {
	for _, f := range flows(e) {
		least := floor(e, f)
		if !loops(f) && f.Time >= 0.1 && f.RTT() >= bloat*least && f.RTT()-least >= standing && f.Flight() >= fullWindow && f.Busy >= bulk*f.Time {
			return f
		}
	}
	return nil
}

// deepest is the queue of a device of this host that holds packets for long; nil if none does.
func deepest(e *diagnosis.Evidence) *network.Queue {
	for i := range e.Mean.Network.Queues {
		q := &e.Mean.Network.Queues[i]
		for _, l := range e.Mean.Links {
			if l.Name == q.Device && l.SentBytes > 0 && q.Bytes/l.SentBytes >= deepQueue && !managed(q.Kind) {
				return q
			}
		}
	}
	return nil
}

// managed reports whether a queueing discipline keeps its queue short.
func managed(kind string) bool {
	return strings.HasPrefix(kind, "fq") || kind == "cake" || kind == "codel" || kind == "sfq"
}

func queueChange(q *network.Queue) *diagnosis.Change {
	if q.Rate > 0 {
		return &diagnosis.Change{
			Says:    fmt.Sprintf("put fq_codel below the rate limit of %s, which keeps the queue short", q.Device),
			Command: fmt.Sprintf("tc qdisc replace dev %s root cake bandwidth %.0fkbit", q.Device, q.Rate*8/1000),
		}
	}
	return &diagnosis.Change{
		Says:    fmt.Sprintf("replace queueing discipline %s of %s by fq_codel, which keeps the queue short", q.Kind, q.Device),
		Command: fmt.Sprintf("tc qdisc replace dev %s root fq_codel", q.Device),
	}
}
