package network

import (
	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/network"
)

const (
	// farAway is a round trip that leaves the data centre: light in glass takes 1 ms for a
	// round trip of 100 km.
	farAway = 0.002
	// travelling is the share of a connection's time that messages are under way.
	travelling = 0.5
)

// networkDelay finds clients whose requests wait for round trips: one request at a time over a
// long way. A server that takes long to answer looks alike, so the shortest round trip counts;
// full queues are bufferbloat, and connections with many requests in flight are not delayed.
var networkDelay = diagnosis.Rule{
	Name: "network_delay", Area: diagnosis.Network,
	Doc:   "requests wait for round trips over a long way",
	Needs: []string{"sockets"},
	Lacks: noTime,
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		seen := map[string]bool{}
		for _, f := range flows(e) {
			least := floor(e, f)
			exchanges := min(f.Segments-f.Retransmits, f.SegmentsIn)
			travel := exchanges * least / f.Time
			if loops(f) || f.Time < 0.2 || least < farAway || travel < travelling || travel > 1.3 || seen[address(f)] || clientHere(e, f) {
				continue
			}
			seen[address(f)] = true
			travel = min(1, travel)
			found = append(found, diagnosis.Finding{
				Subject:    owner(f),
				Says:       "{subject} waits {travel} of its time for messages to and from " + f.Peer + ": a round trip takes at least {round trip}, and each of {connections} connections makes one exchange after the other.",
				Confidence: diagnosis.Likely,
				Impact:     travel,
				Evidence: []diagnosis.Fact{
					diagnosis.Share("travel", travel), diagnosis.Seconds("round trip", least), diagnosis.Number("connections", f.Time), diagnosis.Rate("exchanges", exchanges), diagnosis.Seconds("mean round trip", f.RTT()),
				},
				Change: &diagnosis.Change{
					Says:    "put " + f.Program + " and " + address(f) + " closer together, or keep several requests in flight: pipelining, batches or more connections",
					Command: "tracepath -n " + address(f) + "   # shows where the delay arises",
				},
				Prediction: &diagnosis.Prediction{Low: travel / 2, High: travel, Of: "throughput", Basis: "twice the requests in flight"},
			})
		}
		return found
	},
}

// clientHere reports whether the client of a server's flow is on this host too; its flow counts.
func clientHere(e *diagnosis.Evidence, f *network.Flow) bool {
	if f.Port == 0 {
		return false
	}
	for i := range e.Mean.Network.Flows {
		if x := &e.Mean.Network.Flows[i]; x.Port == 0 && x.Time > 0 && other(e, x) == f && askedPID(e, x.PID) {
			return true
		}
	}
	return false
}
