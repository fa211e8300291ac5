package network

import (
	"testing"

	"plimsoll/internal/measure/foreign"
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
	iperf3Versions(t, f)
	foreigntest.File(t, f, "testdata/iperf3-refused.json", want{Void: "Connection refused"})
	foreigntest.Refused(t, f, `{"event":"start","data":{"connected":7,"version":"iperf 3.17","test_start":3}}`, "line 1", "start")
	foreigntest.Refused(t, f, `{"start":{"version":"iperf 3.1"},"end":{"sum_sent":{"bits_per_second":-8}}}`, "sent", "negative")
}

// iperf3Versions reads real runs over loopback. Values are those of the sums, which the tool's own text has rounded.
func iperf3Versions(t *testing.T, f foreign.Format) {
	t.Helper()
	foreigntest.File(t, f, "testdata/iperf3-3.0.12.json", want{
		Tool: "iperf3 3.0.12", Length: 3, Cut: 1, Values: values{"throughput": 9183418000. / 8, "sent": 9143516000. / 8, "retransmits": 0}, Absent: []string{"rtt.mean"}, Levels: levels{"iperf3.streams": "2"},
	})
	foreigntest.File(t, f, "testdata/iperf3-3.0.12-udp.json", want{
		Values: values{"throughput": 38702527.214826 / 8 * (1 - 399./1745), "lost": 399. / 1745, "jitter": .018e-3}, Counts: counts{"lost": 399}, Warning: "less the share that was lost",
	})
	foreigntest.File(t, f, "testdata/iperf3-3.1.7-reverse.json", want{
		Tool: "iperf3 3.1.7", Values: values{"throughput": 15588050000. / 8, "server.cpu": .48163535}, Absent: []string{"rtt.mean"}, Counts: counts{"retransmits": 23}, Levels: levels{"iperf3.direction": "receive"},
	})
	foreigntest.File(t, f, "testdata/iperf3-3.7-bidir.json", want{ // both directions have the same names
		Tool: "iperf3 3.7", Values: values{"throughput": 98429115.58093335 / 8, "sent": 100045914.4051659 / 8, "reverse.throughput": 99457991.35355633 / 8, "retransmits": 6 / 3.008032},
		Levels: levels{"iperf3.direction": "both", "iperf3.target_bitrate": "100000000"}, Counts: counts{"retransmits": 6},
	})
	foreigntest.File(t, f, "testdata/iperf3-3.10.1-udp-bidir.json", want{
		Values: values{"throughput": 10048702.602794291 / 8, "reverse.throughput": 10048702.602794291 / 8, "jitter": 0.14566461764635993e-3, "lost": 0}, Levels: levels{"iperf3.direction": "both"},
	})
	foreigntest.File(t, f, "testdata/iperf3-3.16-udp.json", want{
		Values: values{"throughput": 38981170.15880652 / 8, "sent": 39968864.34143495 / 8, "jitter": 2.5507344076977385e-3, "lost": 3. / 458}, Counts: counts{"lost": 3}, Levels: levels{"iperf3.streams": "2", "iperf3.direction": "send"},
	})
	foreigntest.File(t, f, "testdata/iperf3-3.16-udp-bidir.json", want{
		Values: values{"throughput": 10042499.778473485 / 8, "reverse.throughput": 9343891.09823185 / 8, "jitter": 0.415629180266158e-3}, Levels: levels{"iperf3.direction": "both"},
	})
	foreigntest.File(t, f, "testdata/iperf3-3.21.json", want{Tool: "iperf3 3.21", Values: values{"throughput": 13285371119.7797 / 8, "client.cpu": .38443142143768455}, Counts: counts{"retransmits": 25}})
	foreigntest.File(t, f, "testdata/iperf3-3.21-stream.json", want{
		Tool: "iperf3 3.21", Length: 2, Values: values{"throughput": 38696719.87668057 / 8, "lost": 10. / 306}, Levels: levels{"iperf3.protocol": "UDP", "iperf3.target_bitrate": "20000000"},
	})
	foreigntest.File(t, f, "testdata/iperf3-3.21-stream-full.json", want{Tool: "iperf3 3.21", Values: values{"throughput": 100430197.51157562 / 8, "rtt.mean": 82e-6}, Counts: counts{"retransmits": 1}})
	foreigntest.File(t, f, "testdata/iperf3-3.21-refused.json", want{Tool: "iperf3", Void: "busy running a test"})
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
