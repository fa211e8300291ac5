package collect

import "plimsoll/internal/hoststat"

// Network counts the traffic of network devices, and events of TCP and UDP.
func Network() Source {
	s := Source{
		Name: "network",
		Doc:  "network devices, TCP and UDP, from /proc/net",
		Counters: []Counter{
			cumulative("network.received.bytes", "B/s", "bytes received, without loopback"),
			cumulative("network.received.packets", "1/s", "packets received, without loopback"),
			cumulative("network.sent.bytes", "B/s", "bytes sent, without loopback"),
			cumulative("network.sent.packets", "1/s", "packets sent, without loopback"),
			cumulative("network.drops", "1/s", "packets dropped by devices"),
			cumulative("network.errors", "1/s", "packets with errors at devices"),
			cumulative("network.loopback.bytes", "B/s", "bytes over the loopback device"),
			cumulative("network.loopback.packets", "1/s", "packets over the loopback device"),
			gauge("tcp.retransmit_share", "1", "share of TCP segments sent that are retransmissions"),
		},
		Needs: []string{"links", "net"},
		Host:  flat(flattenNetwork),
	}
	for _, p := range protocolNames {
		s.Counters = append(s.Counters, cumulative(p.name, "1/s", p.doc))
	}
	return s
}

// protocolNames are sums of counters of the kernel (RFC 4022 and Documentation/networking/snmp_counter.rst).
var protocolNames = []struct {
	name, doc string
	keys      []string
}{
	{"tcp.segments.received", "TCP segments received", []string{"Tcp.InSegs"}},
	{"tcp.segments.sent", "TCP segments sent, retransmissions excluded", []string{"Tcp.OutSegs"}},
	{"tcp.retransmits", "TCP segments retransmitted", []string{"Tcp.RetransSegs"}},
	{"tcp.timeouts", "TCP retransmission timeouts", []string{"TcpExt.TCPTimeouts"}},
	{"tcp.opened", "TCP connections opened, both sides", []string{"Tcp.ActiveOpens", "Tcp.PassiveOpens"}},
	{"tcp.resets", "TCP connections reset", []string{"Tcp.EstabResets", "Tcp.OutRsts"}},
	{"tcp.listen_overflows", "TCP connections that met a full listen queue", []string{"TcpExt.ListenOverflows"}},
	{"tcp.listen_drops", "TCP connections dropped by listening sockets", []string{"TcpExt.ListenDrops"}},
	{"tcp.backlog_drops", "TCP segments dropped by a full socket backlog", []string{"TcpExt.TCPBacklogDrop"}},
	{"tcp.collapses", "TCP receive queues collapsed because the buffer was full", []string{"TcpExt.TCPRcvCollapsed", "TcpExt.PruneCalled"}},
	{"tcp.zero_windows", "times that a TCP receiver closed its window", []string{"TcpExt.TCPToZeroWindowAdv"}},
	{"udp.buffer_errors", "UDP datagrams dropped by a full socket buffer", []string{"Udp.RcvbufErrors", "Udp.SndbufErrors", "Udp6.RcvbufErrors", "Udp6.SndbufErrors"}},
}

func flattenNetwork(i *hoststat.Interval, values map[string]float64) {
	for _, l := range i.Links {
		if l.Name == "lo" {
			values["network.loopback.bytes"], values["network.loopback.packets"] = l.SentBytes, l.SentPackets
			continue
		}
		values["network.received.bytes"] += l.ReceivedBytes
		values["network.received.packets"] += l.ReceivedPackets
		values["network.sent.bytes"] += l.SentBytes
		values["network.sent.packets"] += l.SentPackets
		values["network.drops"] += l.ReceiveDrops + l.SendDrops
		values["network.errors"] += l.ReceiveErrors + l.SendErrors
	}
	for _, p := range protocolNames {
		for _, key := range p.keys {
			if v, ok := i.Net[key]; ok {
				values[p.name] += v
			}
		}
	}
	if sent := values["tcp.segments.sent"] + values["tcp.retransmits"]; sent > 0 {
		values["tcp.retransmit_share"] = values["tcp.retransmits"] / sent
	}
}
