package network

import "plimsoll/internal/diagnosis"

// portsGone is the share of the local ports to one peer in use at which a search for a free one
// becomes slow, and then fails.
const portsGone = 0.9

// ephemeralPorts finds clients that have used up the local ports for connections to one peer.
// Many connections to many peers look alike, and share the ports.
var ephemeralPorts = diagnosis.Rule{
	Name: "ephemeral_ports", Area: diagnosis.Network,
	Doc:   "nearly all local ports for connections to one peer are in use",
	Needs: []string{"sockets"},
	Lacks: func(e *diagnosis.Evidence) string {
		if setting(e, "proc/sys/net/ipv4/ip_local_port_range", 1) == 0 {
			return "no range of local ports"
		}
		return noSockets(e)
	},
	Check: func(e *diagnosis.Evidence) (found []diagnosis.Finding) {
		const name = "proc/sys/net/ipv4/ip_local_port_range"
		ports := setting(e, name, 1) - setting(e, name, 0) + 1
		for _, d := range e.Mean.Network.Destinations {
			if d.Ports < portsGone*ports {
				continue
			}
			found = append(found, diagnosis.Finding{
				Subject:    d.Peer,
				Says:       "{in use} of {ports} local ports are in use for connections to {subject}, most of them closed ones in TIME_WAIT: new connections fail.",
				Confidence: diagnosis.Certain,
				Impact:     min(1, d.Ports/ports),
				Evidence:   []diagnosis.Fact{diagnosis.Number("in use", d.Ports), diagnosis.Number("ports", ports)},
				Change: &diagnosis.Change{
					Says:    "keep connections to " + d.Peer + " open and use them again; until then allow more ports and their early reuse",
					Command: "sysctl -w net.ipv4.ip_local_port_range='1024 65535' net.ipv4.tcp_tw_reuse=1",
				},
			})
		}
		return found
	},
}
