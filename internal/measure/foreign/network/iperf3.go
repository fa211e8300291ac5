package network

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
)

// Iperf3 is the JSON output of iperf3.
func Iperf3() foreign.Format {
	return foreign.Format{
		Name: "iperf3", Doc: "`iperf3 --json` or `--json-stream` of the client", Rate: "operations",
		Metrics: []measure.Metric{
			{Name: "throughput", Unit: "B/s", Doc: "bytes per second as received", Better: measure.HigherIsBetter},
			{Name: "sent", Unit: "B/s", Doc: "bytes per second as sent", Better: measure.Neutral},
			{Name: "reverse.throughput", Unit: "B/s", Doc: "bytes per second received in the other direction (--bidir)", Better: measure.HigherIsBetter},
			{Name: "retransmits", Unit: "1/s", Doc: "TCP segments sent again per second", Better: measure.LowerIsBetter},
			{Name: "jitter", Unit: "s", Doc: "jitter of UDP datagrams", Better: measure.LowerIsBetter},
			{Name: "lost", Unit: "1", Doc: "share of lost UDP datagrams", Better: measure.LowerIsBetter},
			{Name: "rtt.mean", Unit: "s", Doc: "mean round-trip time of TCP, of a single stream", Better: measure.LowerIsBetter},
			{Name: "client.cpu", Unit: "1", Doc: "CPUs used by the client", Better: measure.Neutral},
			{Name: "server.cpu", Unit: "1", Doc: "CPUs used by the server", Better: measure.Neutral},
		},
		Absent: "Response times: the round-trip time is that of TCP under the load. Intervals are no trials, and are skipped; those of `--omit` are warm-up, which iperf3 leaves out of its sums. " +
			"Where the server reported nothing, the rate is that of the sender. Versions before 3.7 do not say the target rate (`-b`).",
		Sniff: func(head []byte) bool {
			connected := bytes.Contains(head, []byte(`"connected"`)) && bytes.Contains(head, []byte(`"local_host"`)) // many streams come before the version
			refused := bytes.HasPrefix(bytes.TrimSpace(head), []byte(`{"event":"error","data":"`))                   // a line of --json-stream, before a version
			return connected || refused || bytes.Contains(head, []byte(`"iperf 3`)) || bytes.Contains(head, []byte(`"iperf version 3`))
		},
		Parse: parseIperf3,
	}
}

type iperfSum struct {
	FromClient  *bool    `json:"sender"`
	Seconds     float64  `json:"seconds"`
	Bits        float64  `json:"bits_per_second"`
	Retransmits *float64 `json:"retransmits"`
	Jitter      *float64 `json:"jitter_ms"`
	Lost        *float64 `json:"lost_packets"`
	Packets     float64  `json:"packets"`
}

type iperfReport struct {
	Start struct {
		Version   string  `json:"version"`
		Target    float64 `json:"target_bitrate"` // 3.7 to 3.12, of TCP
		Timestamp struct {
			Seconds float64 `json:"timesecs"`
		} `json:"timestamp"`
		Test struct {
			Protocol string  `json:"protocol"`
			Streams  float64 `json:"num_streams"`
			Block    float64 `json:"blksize"`
			Omit     float64 `json:"omit"`
			Duration float64 `json:"duration"`
			Reverse  float64 `json:"reverse"`
			Bidir    float64 `json:"bidir"`
			Target   float64 `json:"target_bitrate"`
		} `json:"test_start"`
	} `json:"start"`
	End struct {
		Streams []struct {
			Sender struct {
				iperfSum
				RTT float64 `json:"mean_rtt"` // µs
			} `json:"sender"`
			Receiver iperfSum  `json:"receiver"`
			UDP      *iperfSum `json:"udp"`
		} `json:"streams"`
		Sum             *iperfSum `json:"sum"` // UDP
		Sent            *iperfSum `json:"sum_sent"`
		Received        *iperfSum `json:"sum_received"`
		ReverseReceived *iperfSum `json:"sum_received_bidir_reverse"`
		CPU             struct {
			Local  *float64 `json:"host_total"` // %
			Remote *float64 `json:"remote_total"`
		} `json:"cpu_utilization_percent"`
	} `json:"end"`
	Error string `json:"error"`
}

func parseIperf3(t *foreign.Text) ([]foreign.Run, error) {
	reports, err := iperfReports(t)
	if err != nil {
		return nil, err
	}
	var all []foreign.Run
	for i := range reports {
		reports[i].directions()
		all = append(all, reports[i].run())
	}
	return all, nil
}

func (d *iperfReport) run() foreign.Run {
	version := strings.TrimPrefix(d.Start.Version, "iperf ")
	if version == d.Start.Version { // 3.0: "iperf version 3.0.x"
		version = strings.TrimPrefix(version, "iperf version ")
	}
	r := foreign.NewRun(strings.TrimSpace("iperf3 " + version))
	test := &d.Start.Test
	r.Cut, r.Length = foreign.Duration(test.Omit), foreign.Duration(test.Duration)
	if s := d.Start.Timestamp.Seconds; s > 0 && s < 1e11 {
		r.Start = time.Unix(int64(s), 0).UTC()
	}
	r.Levels["iperf3.protocol"], r.Levels["iperf3.direction"] = test.Protocol, "send"
	switch {
	case test.Bidir > 0:
		r.Levels["iperf3.direction"] = "both"
	case test.Reverse > 0:
		r.Levels["iperf3.direction"] = "receive"
	}
	for name, v := range map[string]float64{"streams": test.Streams, "block": test.Block, "target_bitrate": max(test.Target, d.Start.Target)} {
		if v > 0 {
			r.Levels["iperf3."+name] = strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	if d.Error != "" {
		r.Void = "iperf3 reported: " + d.Error
		return r
	}
	d.sums(&r)
	for _, of := range []*iperfSum{d.End.Sent, d.End.Sum} {
		if r.Length == 0 && of != nil { // by bytes or blocks rather than by time
			r.Length = foreign.Duration(of.Seconds)
		}
	}
	for name, v := range map[string]*float64{"client.cpu": d.End.CPU.Local, "server.cpu": d.End.CPU.Remote} {
		if v != nil {
			r.Values[name] = *v / 100
		}
	}
	if len(d.End.Streams) == 1 && d.End.Streams[0].Sender.RTT > 0 {
		r.Values["rtt.mean"] = d.End.Streams[0].Sender.RTT / 1e6
	}
	return r
}

// sums reads the rates of all streams.
func (d *iperfReport) sums(r *foreign.Run) {
	sent, received := d.End.Sent, d.End.Received
	if sent == nil {
		sent = d.End.Sum
	}
	switch {
	case received != nil && received.Bits > 0:
		r.Values["throughput"] = received.Bits / 8
	case sent != nil:
		r.Values["throughput"] = sent.Bits / 8
		r.Warn("iperf3 has no rate of the receiver: throughput is as sent")
	default:
		r.Void = "the report has no sums: it is truncated, or the run failed"
		return
	}
	if sent != nil {
		r.Values["sent"] = sent.Bits / 8
		if sent.Retransmits != nil && sent.Seconds > 0 {
			r.Counts["retransmits"] = foreign.Events(*sent.Retransmits)
			r.Values["retransmits"] = *sent.Retransmits / sent.Seconds
		}
	}
	if reverse := d.End.ReverseReceived; reverse != nil {
		r.Values["reverse.throughput"] = reverse.Bits / 8
	}
	udp := d.End.Sum
	if udp == nil || udp.Packets <= 0 {
		return
	}
	if udp.Jitter != nil {
		r.Values["jitter"] = *udp.Jitter / 1e3
	}
	if udp.Lost == nil {
		return
	}
	lost := max(0, *udp.Lost) // negative where datagrams came out of order
	r.Values["lost"] = min(1, lost/udp.Packets)
	r.Counts["lost"] = foreign.Events(lost)
	if received == nil || received.Bits == 0 { // the sum is that of the sender
		r.Values["throughput"] *= 1 - r.Values["lost"]
		r.Warn("the throughput of UDP is what was sent less the share that was lost")
	}
}
