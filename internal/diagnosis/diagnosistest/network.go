package diagnosistest

import (
	"fmt"

	"plimsoll/internal/hoststat/network"
)

// sockets are those of a web server with clients on the internet and a pool of connections to
// its database.
func sockets(cpus int) *network.State {
	n := float64(cpus)
	s := &network.State{
		Listeners: []network.Listener{
			{PID: 999, Program: "nginx", Address: "0.0.0.0", Port: 443, Backlog: 511, Connections: 60 * n, Limit: 1024 * n, Setting: "worker_connections", Queue: 0.02, Waiting: 0.02},
			{PID: 1999, Program: "postgres", Address: "127.0.0.1", Port: 5432, Backlog: 200, Connections: n, Limit: 100 + n, Setting: "max_connections"},
		},
		Queues:    []network.Queue{{Device: "eth0", Kind: "fq_codel", Packets: 0.1, Bytes: 150}},
		Holders:   []network.Holder{{PID: 999, Program: "nginx", Files: 40, Limit: 65536}, {PID: 1999, Program: "postgres", Files: 60, Limit: 1024}},
		Readings:  1,
		Conntrack: network.Conntrack{Count: 200 * n, Max: 65536},
	}
	for c := range cpus {
		s.Softnet = append(s.Softnet, network.Softnet{Processed: 3000, Squeezed: 0.1})
		flow := network.Flow{
			PID: 1000 + c, Program: "nginx", Port: 443, Peer: fmt.Sprintf("203.0.113.%d", c), SentBytes: 6e6, ReceivedBytes: 1e5, Segments: 4500, SegmentsIn: 100, Retransmits: 20,
			Time: 20, Busy: 5, RTTTime: 20 * 0.045, MinRTTTime: 20 * 0.03, FlightTime: 20 * 4, Connections: 60, SendBuffer: 4e6, ReceiveBuffer: 131072, SendWindow: 4e5, SegmentSize: 1448,
		}
		pool := network.Flow{
			PID: 1000 + c, Program: "nginx", Peer: "127.0.0.1:5432", SentBytes: 5e4, ReceivedBytes: 1e6, Segments: 300, SegmentsIn: 300,
			Time: 1, Busy: 0.1, RTTTime: 8e-5, MinRTTTime: 3e-5, FlightTime: 0.1, Connections: 1, SendBuffer: 2.6e6, ReceiveBuffer: 6e6, SendWindow: 65536, SegmentSize: 32768,
		}
		s.Flows = append(s.Flows, flow, pool)
	}
	return s
}
