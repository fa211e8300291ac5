package network_test

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/diagnosis/diagnosistest"
	rules "plimsoll/internal/diagnosis/rule/network"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/network"
)

// scene is a change of a healthy host of 8 CPUs, and what a rule says of it.
type scene struct {
	name    string
	change  func(e *diagnosis.Evidence)
	subject string // of the first finding; empty if the rule stays silent
	command string // part of the change
}

// judge runs the scenes of a rule.
func judge(t *testing.T, name string, scenes []scene) {
	t.Helper()
	for _, s := range scenes {
		e := diagnosistest.Healthy(8)
		s.change(e)
		found := diagnosistest.Found(t, rules.All(), name, e)
		switch {
		case s.subject == "" && len(found) > 0:
			t.Errorf("%s, %s: %s", name, s.name, found[0].Says)
		case s.subject != "" && len(found) == 0:
			t.Errorf("%s, %s: nothing found", name, s.name)
		case s.subject != "" && (found[0].Subject != s.subject || found[0].Change == nil || !strings.Contains(found[0].Change.Command+found[0].Change.Says, s.command)):
			t.Errorf("%s, %s: %s: %s %+v", name, s.name, found[0].Subject, found[0].Says, found[0].Change)
		}
	}
}

// flow adds a flow of a program app to a host, or one of its clients to it.
func flow(f network.Flow) func(e *diagnosis.Evidence) {
	return func(e *diagnosis.Evidence) {
		if f.PID == 0 {
			f.PID, f.Program = 7, "app"
		}
		diagnosistest.Each(e, func(i *hoststat.Interval) { i.Network.Flows = append(i.Network.Flows, f) })
	}
}

// listening changes the listening socket of the healthy host's web server.
func listening(change func(l *network.Listener)) func(e *diagnosis.Evidence) {
	return func(e *diagnosis.Evidence) {
		diagnosistest.Each(e, func(i *hoststat.Interval) {
			l := &i.Network.Listeners[0]
			change(l)
			if i.Network.Partial == "" {
				i.Net["TcpExt.ListenDrops"] += l.Drops
			}
		})
	}
}

// discarded is a host, or a container on it, whose web server's listening socket discarded packets, and no connections.
func discarded(space int) func(e *diagnosis.Evidence) {
	return func(e *diagnosis.Evidence) {
		diagnosistest.Each(e, func(i *hoststat.Interval) {
			l := &i.Network.Listeners[0]
			l.Space, l.Drops = space, 20
			if space != 0 {
				i.Net["TcpExt.ListenDrops"] = 30 // of the host, which is another namespace
				i.Network.Spaces = []network.Namespace{{PID: space, Net: map[string]float64{"TcpExt.ListenDrops": 0}}}
			}
		})
	}
}

// socket adds a Unix socket that php-fpm listens on.
func socket(change func(l *network.Listener)) func(e *diagnosis.Evidence) {
	return func(e *diagnosis.Evidence) {
		diagnosistest.Each(e, func(i *hoststat.Interval) {
			l := network.Listener{PID: 70, Program: "php-fpm8.3", Address: "/run/php.sock", Backlog: 511, Connections: 4}
			change(&l)
			i.Network.Listeners = append(i.Network.Listeners, l)
		})
	}
}

// partial is a host whose kernel does not tell what it counts per socket.
func partial(e *diagnosis.Evidence) {
	diagnosistest.Each(e, func(i *hoststat.Interval) {
		i.Network.Partial = "refused"
		i.Net["TcpExt.ListenDrops"] = 12
		for n := range i.Network.Listeners {
			i.Network.Listeners[n].Waiting, i.Network.Listeners[n].Queue = 0, 0
		}
	})
}

// Without counters per connection, rules that need them are not judged.
func TestUnjudged(t *testing.T) {
	e := diagnosistest.Healthy(8)
	partial(e)
	delete(e.Mean.Net, "TcpExt.ListenDrops")
	_, unjudged := diagnosis.Judge(e, rules.All())
	var names []string
	for _, u := range unjudged {
		names = append(names, u.Rule)
	}
	if want := []string{"tcp_retransmits", "bufferbloat", "network_delay", "socket_buffers", "listen_queue"}; !slices.Equal(names, want) {
		t.Errorf("not judged: %v, want %v", names, want)
	}
}

// both makes two changes.
func both(a, b func(e *diagnosis.Evidence)) func(e *diagnosis.Evidence) {
	return func(e *diagnosis.Evidence) { a(e); b(e) }
}

func host(name, value string) func(e *diagnosis.Evidence) {
	return func(e *diagnosis.Evidence) { e.Facts.Settings[name] = value }
}

// asking is a client with ten connections and a round trip of 20 ms, one request each at a time.
var asking = network.Flow{
	Peer: "10.0.0.9:5432", SentBytes: 5e4, ReceivedBytes: 5e5, Segments: 480, SegmentsIn: 480, Time: 10, Busy: 9.6,
	RTTTime: 10 * 0.0205, MinRTTTime: 10 * 0.02, FlightTime: 9.6, Connections: 10, SendBuffer: 87040, ReceiveBuffer: 131072, SendWindow: 65536, SegmentSize: 1448,
}

// sending is one connection that sends as fast as it can.
var sending = network.Flow{
	Peer: "10.0.0.9:9000", SentBytes: 1.25e6, ReceivedBytes: 0, Segments: 900, Time: 1, Busy: 1,
	RTTTime: 0.031, MinRTTTime: 0.03, FlightTime: 26, Connections: 1, SendBuffer: 4e6, ReceiveBuffer: 131072, SendWindow: 3e6, SegmentSize: 1448,
}

func vary(f network.Flow, change func(f *network.Flow)) network.Flow {
	change(&f)
	return f
}

func TestNetworkDelay(t *testing.T) {
	judge(t, "network_delay", []scene{
		{"one request at a time over 20 ms", flow(asking), "app (7)", "pipelining"},
		{"a slow server nearby", flow(vary(asking, func(f *network.Flow) { f.MinRTTTime = 10 * 0.0002 })), "", ""},
		{"few requests", flow(vary(asking, func(f *network.Flow) { f.Segments, f.SegmentsIn = 50, 50 })), "", ""},
		{"many requests in flight", flow(vary(asking, func(f *network.Flow) { f.Segments, f.SegmentsIn = 5000, 5000 })), "", ""},
		{"a transfer", flow(sending), "", ""},
		{"on the loopback device", flow(vary(asking, func(f *network.Flow) { f.Peer = "127.0.0.1:80" })), "", ""},
	})
}

func TestTCPRetransmits(t *testing.T) {
	lossy := vary(sending, func(f *network.Flow) { f.Retransmits, f.FlightTime = 36, 8 })
	judge(t, "tcp_retransmits", []scene{
		{"4 % lost", flow(lossy), "app (7)", "10.0.0.9"},
		{"1 % lost nearby", flow(vary(lossy, func(f *network.Flow) { f.Retransmits, f.RTTTime, f.MinRTTTime = 9, 0.0005, 0.0003 })), "app (7)", "bbr"},
		{"1 % lost on a long way", flow(vary(lossy, func(f *network.Flow) { f.Retransmits = 9 })), "", ""},
		{"2 % lost on a long way without a queue", flow(vary(lossy, func(f *network.Flow) { f.Retransmits = 18 })), "app (7)", "bbr"},
		{"2 % lost on a long way with a queue", flow(vary(lossy, func(f *network.Flow) { f.Retransmits, f.RTTTime = 18, 2*f.MinRTTTime })), "", ""},
		{"sent again without need", flow(vary(lossy, func(f *network.Flow) { f.Duplicates = 35 })), "", ""},
		{"three segments in all", flow(vary(lossy, func(f *network.Flow) { f.Segments, f.Retransmits = 0.1, 0.05 })), "", ""},
		{"a busy loopback device", flow(vary(lossy, func(f *network.Flow) { f.Peer = "127.0.0.1:80" })), "", ""},
		{"a listen queue that drops", both(flow(vary(lossy, func(f *network.Flow) { f.Peer = "10.0.0.1:443" })), listening(func(l *network.Listener) { l.Drops = 5 })), "", ""},
	})
}

func TestBufferbloat(t *testing.T) {
	bloated := vary(sending, func(f *network.Flow) { f.RTTTime, f.FlightTime = 0.4, 300 })
	queue := func(q network.Queue) func(e *diagnosis.Evidence) {
		return func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) {
				i.Network.Queues[0] = q
				i.Links[0] = hoststat.Link{Name: "eth0", SentBytes: 1.25e6, SentPackets: 900}
			})
		}
	}
	judge(t, "bufferbloat", []scene{
		{"round trips of 400 ms instead of 30", flow(bloated), "app (7)", "bbr"},
		{"in the queue of this host", both(flow(bloated), queue(network.Queue{Device: "eth0", Kind: "pfifo_fast", Bytes: 4e5, Packets: 300})), "app (7)", "tc qdisc replace dev eth0 root fq_codel"},
		{"in its token bucket", both(flow(bloated), queue(network.Queue{Device: "eth0", Kind: "tbf", Rate: 1.25e6, Bytes: 4e5, Packets: 300})), "app (7)", "bandwidth 10000kbit"},
		{"a long way", flow(vary(bloated, func(f *network.Flow) { f.MinRTTTime = 0.38 })), "", ""},
		{"delayed acknowledgements", flow(vary(bloated, func(f *network.Flow) { f.RTTTime, f.MinRTTTime, f.FlightTime = 0.04, 0.0002, 1 })), "", ""},
		{"a slow receiver with little under way", flow(vary(bloated, func(f *network.Flow) { f.Busy = 0.2 })), "", ""},
		{"a local network under load", flow(vary(bloated, func(f *network.Flow) { f.RTTTime, f.MinRTTTime = 0.004, 0.0002 })), "", ""},
	})
}

func TestSocketBuffers(t *testing.T) {
	small := vary(sending, func(f *network.Flow) {
		f.SentBytes, f.Segments, f.BufferLimited, f.SendBuffer = 2e5, 150, 0.8, 16384
	})
	window := vary(sending, func(f *network.Flow) {
		f.SentBytes, f.Segments, f.ReceiverLimited, f.SendWindow = 2.5e5, 170, 0.9, 8192
	})
	far := network.Flow{PID: 8, Program: "sink", Port: 9000, Peer: "10.0.0.1", ReceivedBytes: 2.5e5, Time: 1, RTTTime: 0.03, MinRTTTime: 0.03, ReceiveBuffer: 16384, Connections: 1}
	judge(t, "socket_buffers", []scene{
		{"a small SO_SNDBUF", flow(small), "app (7)", "SO_SNDBUF"},
		{"a send buffer that is full though the kernel does not count it", flow(vary(sending, func(f *network.Flow) { f.SendBuffer, f.FlightTime = 16384, 40 })), "app (7)", "SO_SNDBUF"},
		{"a small tcp_wmem", both(flow(small), host("proc/sys/net/ipv4/tcp_wmem", "4096 16384 16384")), "app (7)", "sysctl -w net.ipv4.tcp_wmem="},
		{"a small window of another host", flow(window), "app (7)", "on 10.0.0.9"},
		{"a small SO_RCVBUF on this host", both(flow(window), flow(far)), "app (7)", "SO_RCVBUF in sink (8)"},
		{"a small tcp_rmem", both(both(flow(window), flow(far)), host("proc/sys/net/ipv4/tcp_rmem", "4096 8192 16384")), "app (7)", "sysctl -w net.ipv4.tcp_rmem="},
		{"a receiver with a small buffer", flow(vary(far, func(f *network.Flow) { f.Peer, f.Port = "10.0.0.9:80", 0 })), "sink (8)", "SO_RCVBUF"},
		{"a UDP socket that overflows", func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) {
				i.Net["Udp.InDatagrams"] = 20_000
				i.Network.Datagrams = []network.Datagrams{{PID: 9, Program: "dns", Port: 53, Drops: 500}}
			})
		}, "dns (9)", "sysctl -w net.core.rmem_max="},
		{"a UDP socket over IPv6 that overflows", func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) {
				i.Net["Udp.RcvbufErrors"], i.Net["Udp6.InDatagrams"], i.Net["Udp6.RcvbufErrors"] = 0, 20_000, 500
				i.Network.Datagrams = []network.Datagrams{{PID: 9, Program: "dns", Port: 53, Drops: 500}}
			})
		}, "dns (9)", "sysctl -w net.core.rmem_max="},
		{"few datagrams lost of many over IPv6", func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) {
				i.Net["Udp.InDatagrams"], i.Net["Udp6.InDatagrams"] = 0, 200_000
				i.Network.Datagrams = []network.Datagrams{{PID: 9, Program: "dns", Port: 53, Drops: 100}}
			})
		}, "", ""},
		{"datagrams that a socket filter discards", func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) {
				i.Net["Udp.InDatagrams"], i.Net["Udp.RcvbufErrors"] = 20_000, 0
				i.Network.Datagrams = []network.Datagrams{{PID: 9, Program: "dhclient", Port: 68, Drops: 500}}
			})
		}, "", ""},
		{"a few datagrams lost", func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) {
				i.Network.Datagrams = []network.Datagrams{{PID: 9, Program: "dns", Port: 53, Drops: 1}}
			})
		}, "", ""},
		{"a program that reads slowly here", both(flow(window), flow(vary(far, func(f *network.Flow) { f.UnreadTime = 0.8 }))), "", ""},
		{"a database that takes its time on the loopback device", both(
			flow(vary(window, func(f *network.Flow) {
				f.Peer, f.SendWindow, f.SentBytes, f.RTTTime, f.MinRTTTime = "127.0.0.1:9000", 320e3, 5e7, 0.004, 0.00003
			})),
			flow(vary(far, func(f *network.Flow) { f.Peer, f.ReceiveBuffer = "127.0.0.1", 640e3 }))), "", ""},
		{"a program that reads slowly elsewhere", flow(vary(window, func(f *network.Flow) { f.SendWindow = 3e6 })), "", ""},
		{"a transfer at the rate of its link", flow(sending), "", ""},
		{"few requests", flow(asking), "", ""},
	})
}

func TestInterfaceSaturated(t *testing.T) {
	device := func(l hoststat.Link) func(e *diagnosis.Evidence) {
		return func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) { i.Links[0] = l })
		}
	}
	full := hoststat.Link{Name: "eth0", SentBytes: 1.2e9, SentPackets: 8e5, ReceivedBytes: 1e7, ReceivedPackets: 1e5}
	dropping := hoststat.Link{Name: "eth0", ReceivedBytes: 1e8, ReceivedPackets: 1e5, ReceiveDrops: 2000}
	judge(t, "interface_saturated", []scene{
		{"at its speed", device(full), "eth0", "faster"},
		{"at its speed a third of the time", func(e *diagnosis.Evidence) {
			for i := range e.Intervals[:20] {
				e.Intervals[i].Links[0] = full
			}
		}, "eth0", "faster"},
		{"a virtual device at a speed that means nothing", both(device(full), func(e *diagnosis.Evidence) { delete(e.Facts.Settings, "sys/class/net/eth0/device/modalias") }), "", ""},
		{"at its rate limit", both(device(hoststat.Link{Name: "eth0", SentBytes: 1.2e6, SentPackets: 1000}), func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) {
				i.Network.Queues[0] = network.Queue{Device: "eth0", Kind: "tbf", Rate: 1.25e6}
			})
		}), "eth0", "rate limit"},
		{"drops", device(dropping), "eth0", "ethtool -G eth0"},
		{"packets of unknown protocols", device(hoststat.Link{Name: "eth0", ReceivedPackets: 1e5, ReceiveDrops: 3}), "", ""},
		{"a queue that overflows", func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) {
				i.Network.Queues[0] = network.Queue{Device: "eth0", Kind: "pfifo_fast", Drops: 500}
			})
		}, "eth0", "fq_codel"},
		{"a queue that a transfer keeps full", both(flow(vary(sending, func(f *network.Flow) { f.RTTTime, f.FlightTime = 0.4, 300 })), device(hoststat.Link{Name: "eth0", SentPackets: 1e4, SendDrops: 100})), "", ""},
		{"a queue of a device that bursts fill", both(flow(sending), device(hoststat.Link{Name: "eth0", SentPackets: 1e4, SendDrops: 100})), "eth0", "ethtool -G"},
		{"fq_codel that drops", func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) { i.Network.Queues[0].Drops = 500 })
		}, "", ""},
		{"half of its speed", device(hoststat.Link{Name: "eth0", SentBytes: 6e8, SentPackets: 4e5}), "", ""},
	})
	e := diagnosistest.Healthy(8)
	diagnosistest.Each(e, func(i *hoststat.Interval) { i.Network.Softnet[3].Dropped = 900 })
	if found := diagnosistest.Found(t, rules.All(), "interface_saturated", e); len(found) != 1 || found[0].Subject != "" || found[0].Change.Command != "sysctl -w net.core.netdev_max_backlog=4000" {
		t.Errorf("full input queues: %+v", found)
	}
}

func TestListenQueue(t *testing.T) {
	short := listening(func(l *network.Listener) { l.Backlog, l.Drops, l.Queue, l.Waiting, l.Full = 1, 20, 0.3, 0.3, 0.2 })
	judge(t, "listen_queue", []scene{
		{"backlog of 1", short, "nginx (999)", "listen ... backlog=4096"},
		{"a host with a small limit", both(host("proc/sys/net/core/somaxconn", "1"), short), "nginx (999)", "sysctl -w net.core.somaxconn=4096"},
		{"a server that does not accept", listening(func(l *network.Listener) { l.Drops, l.Queue, l.Waiting, l.Full = 20, 511, 1, 1 }), "nginx (999)", "why nginx does not accept"},
		{"a queue in use", listening(func(l *network.Listener) { l.Queue, l.Waiting = 100, 1 }), "", ""},
		{"resets that a listening socket discarded", discarded(0), "", ""},
		{"the same in a container", discarded(71), "", ""},
		{"drops in a container", both(discarded(71), func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) { i.Network.Spaces[0].Net["TcpExt.ListenDrops"] = 15 })
		}), "nginx (999)", "listen ... backlog=4096"},
		{"a single drop", listening(func(l *network.Listener) { l.Drops = 0.02 }), "", ""},
		{"a Unix socket with a short queue", socket(func(l *network.Listener) { l.Backlog, l.Queue, l.Waiting, l.Full = 3, 1, 0.4, 0.2 }), "php-fpm8.3 (70)", "listen.backlog = 4096"},
		{"a Unix socket whose workers are busy", socket(func(l *network.Listener) { l.Backlog, l.Queue, l.Waiting, l.Full = 511, 512, 1, 0.9 }), "php-fpm8.3 (70)", "pm.max_children"},
		{"a Unix socket of another user", socket(func(l *network.Listener) { l.PID, l.Program, l.Full = 0, "", 0.5 }), "Unix socket /run/php.sock", "ss -lx src /run/php.sock"},
		{"a queue of a Unix socket in use", socket(func(l *network.Listener) { l.Backlog, l.Queue, l.Waiting = 511, 100, 1 }), "", ""},
		{"drops where sockets are read from files", both(partial, listening(func(l *network.Listener) { l.Backlog, l.Queue, l.Waiting = 0, 20, 0.4 })), "nginx (999)", "listen ... backlog=4096"},
		{"drops of another socket, which had closed", partial, "", ""},
		{"a Unix socket that was full once", socket(func(l *network.Listener) { l.Backlog, l.Queue, l.Waiting, l.Full = 3, 0.1, 0.1, 0.02 }), "", ""},
	})
}

func TestConnectionLimit(t *testing.T) {
	at := func(program string, limit, connections, waiting float64) func(e *diagnosis.Evidence) {
		return listening(func(l *network.Listener) {
			l.Program, l.Limit, l.Setting, l.Connections, l.Waiting, l.Queue = program, limit, map[bool]string{true: "worker_connections", false: "max_connections"}[program == "nginx"], connections, waiting, 40*waiting
			l.Config = "server.conf"
		})
	}
	quiet := func(e *diagnosis.Evidence) {
		diagnosistest.Each(e, func(i *hoststat.Interval) { i.Net["Tcp.PassiveOpens"] = 0.1 })
	}
	judge(t, "connection_limit", []scene{
		{"PostgreSQL without a connection left", at("postgres", 20, 17, 0), "postgres (999)", "ALTER SYSTEM SET max_connections"},
		{"MariaDB without a connection left", at("mariadbd", 100, 100, 0), "mariadbd (999)", "SET GLOBAL max_connections = 256"},
		{"Redis with clients waiting", at("redis-server", 50, 50, 1), "redis-server (999)", "config set maxclients 128"},
		{"nginx at the connections of its workers", at("nginx", 64, 63, 1), "nginx (999)", "server.conf"},
		{"Redis with a limit that it does not show", both(at("redis-server", 10000, 50, 0), func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) {
				i.Network.Listeners[0].Config = ""
				i.Net["Tcp.PassiveOpens"], i.Net["Tcp.OutRsts"] = 200, 190
			})
		}), "redis-server (999)", "config set maxclients 1024"},
		{"Redis beside a server that resets connections", func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) {
				redis := network.Listener{PID: 5, Program: "redis-server", Port: 6379, Connections: 20, Limit: 10000, Setting: "maxclients"}
				i.Network.Listeners[0].Limit = i.Network.Listeners[0].Connections
				i.Network.Listeners = append([]network.Listener{redis}, i.Network.Listeners...)
				i.Net["Tcp.PassiveOpens"], i.Net["Tcp.OutRsts"] = 200, 190
			})
		}, "nginx (999)", "worker_connections"},
		{"nginx that resets connections", both(at("nginx", 80, 68, 0), func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) { i.Net["Tcp.OutRsts"] = 15 })
		}), "nginx (999)", "worker_connections"},
		{"nginx with clients that come and go", at("nginx", 80, 68, 0), "", ""},
		{"PostgreSQL without a connection left, half of them through its Unix socket", both(at("postgres", 20, 10, 0), socket(func(l *network.Listener) {
			l.PID, l.Program, l.Limit, l.Connections = 999, "postgres", 20, 8
		})), "postgres (999)", "ALTER SYSTEM SET max_connections"},
		{"a pool as large as the limit", both(at("postgres", 20, 20, 0), quiet), "", ""},
		{"room for more", at("postgres", 100, 60, 0), "", ""},
		{"an idle server that does not accept", at("server", 0, 16, 1), "server (999)", "limit of connections"},
		{"a busy server that does not accept", both(at("server", 0, 16, 1), func(e *diagnosis.Evidence) {
			diagnosistest.Run(e, hoststat.Process{PID: 999, Name: "server", User: 0.98})
		}), "", ""},
		{"connections that wait now and then", at("server", 0, 16, 0.2), "", ""},
		{"a server without open files", both(at("server", 0, 16, 1), func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) {
				i.Network.Holders[0] = network.Holder{PID: 999, Program: "server", Files: 64, Limit: 64}
			})
		}), "", ""},
	})
}

func TestFileLimit(t *testing.T) {
	files := func(n float64) func(e *diagnosis.Evidence) {
		return func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) { i.Network.Holders[1].Files = n })
		}
	}
	judge(t, "file_limit", []scene{
		{"all files open", files(1024), "postgres (1999)", "prlimit --pid 1999 --nofile=65536:65536"},
		{"nearly all", files(990), "", ""},
	})
}

func TestConntrackFull(t *testing.T) {
	table := func(c network.Conntrack) func(e *diagnosis.Evidence) {
		return func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) { i.Network.Conntrack = c })
		}
	}
	for name, c := range map[string]struct {
		table network.Conntrack
		found int
	}{
		"full": {network.Conntrack{Count: 1000, Max: 1000, Drops: 50}, 1}, "half full": {network.Conntrack{Count: 500, Max: 1000}, 0}, "not limited": {network.Conntrack{Count: 5}, 0},
	} {
		e := diagnosistest.Healthy(8)
		table(c.table)(e)
		if found := diagnosistest.Found(t, rules.All(), "conntrack_full", e); len(found) != c.found || c.found == 1 && found[0].Change.Command != "sysctl -w net.netfilter.nf_conntrack_max=4000" {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestEphemeralPorts(t *testing.T) {
	used := func(n float64) func(e *diagnosis.Evidence) {
		return func(e *diagnosis.Evidence) {
			diagnosistest.Each(e, func(i *hoststat.Interval) {
				i.Network.Destinations = []network.Destination{{Peer: "10.0.0.9:80", Ports: n}}
			})
		}
	}
	judge(t, "ephemeral_ports", []scene{
		{"no port left", used(28_232), "10.0.0.9:80", "ip_local_port_range"},
		{"half of them", used(14_000), "", ""},
	})
}
