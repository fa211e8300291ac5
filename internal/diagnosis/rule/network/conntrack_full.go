package network

import (
	"fmt"

	"plimsoll/internal/diagnosis"
)

// trackedFull is the share of the table of tracked connections in use at which new ones begin
// to evict others.
const trackedFull = 0.95

// conntrackFull finds a full table of tracked connections: the kernel drops the packets of new
// ones. A table that is nearly full and drops nothing only warns.
var conntrackFull = diagnosis.Rule{
	Name: "conntrack_full", Area: diagnosis.Network,
	Doc:      "the table of tracked connections is full",
	Needs:    []string{"conntrack"},
	Lacks:    noSockets,
	Explains: []string{"tcp_retransmits", "listen_queue"},
	Check: func(e *diagnosis.Evidence) []diagnosis.Finding {
		c := e.Mean.Network.Conntrack
		if c.Max == 0 || c.Count < trackedFull*c.Max {
			return nil
		}
		f := diagnosis.Finding{
			Says:       "The firewall tracks {tracked} connections of {limit}; packets of new connections are dropped when the table is full, now {dropped}.",
			Confidence: diagnosis.Likely,
			Impact:     0.2,
			Evidence:   []diagnosis.Fact{diagnosis.Number("tracked", c.Count), diagnosis.Number("limit", c.Max), diagnosis.Rate("dropped", c.Drops)},
			Change:     &diagnosis.Change{Says: "raise the limit, or do not track connections that need no firewall (notrack)", Command: fmt.Sprintf("sysctl -w net.netfilter.nf_conntrack_max=%.0f", 4*c.Max)},
		}
		if c.Drops > 0 {
			f.Confidence = diagnosis.Certain
			opened := e.Mean.Net["Tcp.ActiveOpens"] + e.Mean.Net["Tcp.PassiveOpens"]
			f.Impact = min(1, max(f.Impact, c.Drops/(c.Drops+opened)))
		}
		return []diagnosis.Finding{f}
	},
}
