package network

import (
	"fmt"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/network"
)

// datagrams finds UDP sockets whose receive buffer overflows. A few drops when a program starts
// or pauses are normal.
func datagrams(e *diagnosis.Evidence) (found []diagnosis.Finding) {
	received := e.Mean.Net["Udp.InDatagrams"] + e.Mean.Net["Udp6.InDatagrams"]
	for i := range e.Mean.Network.Datagrams {
		d := &e.Mean.Network.Datagrams[i]
		drops := bufferDrops(e, d)
		lost := drops / (drops + received)
		if drops < leastRate || lost < leastDrop || !askedPID(e, d.PID) {
			continue
		}
		most := setting(e, "proc/sys/net/core/rmem_max", 0)
		found = append(found, diagnosis.Finding{
			Subject:    program(d.Program, d.PID, d.Port),
			Says:       fmt.Sprintf("The receive buffer of {subject} on UDP port %d overflows: {dropped} datagrams are dropped, {share} of those that arrive.", d.Port),
			Confidence: diagnosis.Certain,
			Impact:     lost,
			Evidence:   []diagnosis.Fact{diagnosis.Rate("dropped", drops), diagnosis.Share("share", lost), diagnosis.Bytes("largest buffer allowed", most)},
			Change: &diagnosis.Change{
				Says:    "allow larger receive buffers and set SO_RCVBUF in " + d.Program + ", or read in more threads: a larger buffer helps against bursts only",
				Command: fmt.Sprintf("sysctl -w net.core.rmem_max=%.0f net.core.rmem_default=%.0f", max(26214400, 4*most), max(4194304, most)),
			},
		})
	}
	return found
}

// bufferDrops is how many datagrams a second a socket dropped because its receive buffer was full. The socket's own counter also has those that a socket
// filter or a wrong checksum discards (udp_queue_rcv_one_skb of net/ipv4/udp.c); those of the host have full buffers only.
func bufferDrops(e *diagnosis.Evidence, d *network.Datagrams) float64 {
	drops4, counted := e.Mean.Net["Udp.RcvbufErrors"]
	if !counted {
		return d.Drops
	}
	return min(d.Drops, drops4+e.Mean.Net["Udp6.RcvbufErrors"])
}
