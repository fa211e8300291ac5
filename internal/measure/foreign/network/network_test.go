package network

import (
	"testing"

	"plimsoll/internal/measure/foreign/foreigntest"
)

type (
	values = map[string]float64
	counts = map[string]int64
	levels = map[string]string
	want   = foreigntest.Want
)

func TestIperf3(t *testing.T) {
	f := Iperf3()
	foreigntest.File(t, f, "testdata/iperf3-3.9.json", want{
		Tool: "iperf3 3.9", Length: 10, Cut: 2, // the omitted intervals are warm-up
		Values: values{"throughput": 9362549800.8 / 8, "sent": 9408000000. / 8, "retransmits": 1.2, "client.cpu": .455, "server.cpu": .6225}, Counts: counts{"retransmits": 12},
		Absent: []string{"rtt.mean", "jitter", "lost"}, Levels: levels{"iperf3.protocol": "TCP", "iperf3.streams": "2", "iperf3.direction": "send"},
	})
	foreigntest.File(t, f, "testdata/iperf3-3.16-bidir.json", want{
		Tool: "iperf3 3.16", Values: values{"throughput": 909898547.2 / 8, "reverse.throughput": 116e6, "retransmits": 1.1}, Levels: levels{"iperf3.direction": "both"},
	})
	foreigntest.File(t, f, "testdata/iperf3-3.12-udp.json", want{
		Values: values{"throughput": 99e6 / 8, "sent": 100e6 / 8, "jitter": .00002, "lost": .01}, Counts: counts{"lost": 432}, Absent: []string{"retransmits"}, Levels: levels{"iperf3.target_bitrate": "100000000"},
	})
	foreigntest.File(t, f, "testdata/iperf3-3.12.json", want{
		Tool: "iperf3 3.12", Length: 2, Cut: 1, Values: values{"throughput": 6089747089.556008 / 8, "sent": 6091683587.936195 / 8, "retransmits": 0, "client.cpu": .20020870046691407}, Absent: []string{"rtt.mean"},
	})
	foreigntest.File(t, f, "testdata/iperf3-3.12-udp-run.json", want{
		Values: values{"throughput": 20181737.831519965 / 8, "sent": 20183311.868555564 / 8, "jitter": 0.014679899279566444e-3, "lost": 0}, Levels: levels{"iperf3.protocol": "UDP"},
	})
	foreigntest.File(t, f, "testdata/iperf3-3.1-udp-blocks.json", want{
		Tool: "iperf3 3.1.3", Length: .8, Values: values{"throughput": 1e8 * .99, "sent": 1e8, "jitter": .0001, "lost": .01, "client.cpu": .175}, Counts: counts{"lost": 100},
		Levels: levels{"iperf3.protocol": "UDP", "iperf3.block": "8000"}, Warning: "less the share that was lost",
	})
	foreigntest.File(t, f, "testdata/iperf3-refused.json", want{Void: "Connection refused"})
	foreigntest.Refused(t, f, `{"start":{"version":"iperf 3.1"},"end":{"sum_sent":{"bits_per_second":-8}}}`, "sent", "negative")
}

func TestNetperf(t *testing.T) {
	f := Netperf()
	foreigntest.File(t, f, "testdata/netperf-rr.txt", want{
		Values: values{"transactions": 1405.5, "p50": .000683, "p90": .000735, "p99": .000841, "max": .0009}, Levels: levels{"netperf.test": "TCP REQUEST/RESPONSE"}, Warning: "10 s", Absent: []string{"throughput"},
	})
	foreigntest.File(t, f, "testdata/netperf-stream.txt", want{Values: values{"throughput": 1187.94e6 / 8}, Absent: []string{"p50", "transactions"}, Levels: levels{"netperf.test": "TCP STREAM"}})
	foreigntest.File(t, f, "testdata/netperf-tables.txt",
		want{Length: 10, Values: values{"throughput": 9385.84e6 / 8}},
		want{Length: 10, Values: values{"transactions": 12345.67}, Absent: []string{"throughput", "p50"}},
		want{Length: 10, Values: values{"sent": 9433.01e6 / 8, "throughput": 9338.68e6 / 8}, Levels: levels{"netperf.message": "65507"}})
	foreigntest.File(t, f, "testdata/netperf-2020.txt",
		want{Length: 10, Values: values{"throughput": 941.28e6 / 8}, Absent: []string{"sent"}},
		want{Length: 10, Values: values{"sent": 961.87e6 / 8, "throughput": 961.87e6 / 8}, Levels: levels{"netperf.message": "65507"}},
		want{Length: 10, Values: values{"transactions": 14118.53}, Absent: []string{"throughput", "p50"}})
	foreigntest.File(t, f, "testdata/netperf-keywords.txt", want{
		Length: 30, Values: values{"transactions": 20000.5, "mean": .0000499, "p50": .000048, "p99": .00009, "max": .00305, "retransmits": .1}, Levels: levels{"netperf.protocol": "TCP"},
	})
	foreigntest.Refused(t, f, "TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to h\nThroughput\nfurlongs/fortnight\n\n 1 1 1 10.00 5.5\n", "unit of throughput")
	foreigntest.Refused(t, f, "TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to h\nThroughput\n10^6bits/sec\n\n 1 1 1 10.00\n", "line 5", "truncated")
	foreigntest.Refused(t, f, "TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to h\nThroughput\n10^6bits/sec\n\n 1 1 1 10.00 9385,84\n", "line 5", "decimal comma")
}

func FuzzIperf3(f *testing.F)  { foreigntest.Fuzz(f, Iperf3(), "testdata/iperf3-*") }
func FuzzNetperf(f *testing.F) { foreigntest.Fuzz(f, Netperf(), "testdata/netperf-*") }
