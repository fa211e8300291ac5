package network

import (
	"encoding/csv"
	"fmt"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/pattern"
)

// Netperf is the output of netperf.
func Netperf() foreign.Format {
	return foreign.Format{
		Name: "netperf", Doc: "standard output of netperf 2.4 and later: classic tables, or of the omni tests CSV (`-o`) and keywords (`-k`)", Rate: "transactions",
		Metrics: append(measure.OperationMetrics("transactions"),
			measure.Metric{Name: "sent", Unit: "B/s", Doc: "bytes per second as sent", Better: measure.Neutral},
			measure.Metric{Name: "retransmits", Unit: "1/s", Doc: "TCP segments sent again per second", Better: measure.LowerIsBetter}),
		Absent: "The version. Response times, unless `-o` or `-k` asks for them; the mean of request/response tests is then that of netperf. CPU utilisation of `-c` and `-C`. Interim results are skipped. " +
			"Of UDP_STREAM, `throughput` is as received. What `-i` and `-I` repeat is one run.",
		Sniff: func(head []byte) bool { return netperfTest().Match(head) || netperfKey().Match(head) },
		Parse: parseNetperf,
	}
}

var (
	netperfTest  = pattern.Of(`(?m)^(?:MIGRATED )?((?:TCP|UDP|SCTP|OMNI|Omni|DLPI|XTI)[\w/| ]*?) (?:TEST|Test|SEND TEST)\b.* from `)
	netperfKey   = pattern.Of(`(?m)^THROUGHPUT_UNITS=`)
	netperfValue = pattern.Of(`^([A-Z][A-Z0-9_]*)=(.*)$`)
	netperfRow   = pattern.Of(`^\d+(\s|$)`)
	netperfUnit  = pattern.Of(`(10\^[369]bits/s(?:ec)?|[KMG]Bytes\s*/s(?:ec)?|Trans/s|per sec)`)
)

var netperfUnits = map[string]float64{
	"10^3bits/s": 1e3 / 8, "10^6bits/s": 1e6 / 8, "10^9bits/s": 1e9 / 8, "KBytes/s": 1 << 10, "MBytes/s": 1 << 20, "GBytes/s": 1 << 30,
}

// factorOf is the factor of a unit of throughput, in bytes per second; 0 for transactions.
func factorOf(unit string) (float64, error) {
	unit = strings.TrimSuffix(strings.ReplaceAll(unit, " ", ""), "ec")
	if unit == "Trans/s" || unit == "pers" {
		return 0, nil
	}
	factor, ok := netperfUnits[unit]
	if !ok {
		return 0, fmt.Errorf("unknown unit of throughput %q", unit)
	}
	return factor, nil
}

// netperf gathers the tests of a file.
type netperf struct {
	all     []foreign.Run
	head    string            // lines of the head of a table, joined
	columns []string          // of CSV
	rows    int               // of the table that were read
	values  map[string]string // keywords
}

func parseNetperf(t *foreign.Text) ([]foreign.Run, error) {
	n := &netperf{}
	for t.Next() {
		if err := n.line(strings.TrimSpace(t.Line())); err != nil {
			return nil, t.Errorf("%w", err)
		}
	}
	if err := n.close(); err != nil {
		return nil, t.Errorf("%w", err)
	}
	for i := range n.all {
		if r := &n.all[i]; len(r.Values) == 0 {
			r.Void = "the test has no result: it failed, or the output is truncated"
		}
	}
	return n.all, t.Err()
}

func (n *netperf) begin(test string) error {
	if err := n.close(); err != nil {
		return err
	}
	r := foreign.NewRun("netperf")
	r.Levels["netperf.test"] = strings.ToUpper(test)
	n.all, n.head, n.columns, n.rows = append(n.all, r), "", nil, 0
	return nil
}

func (n *netperf) line(line string) error {
	if m := netperfTest().FindStringSubmatch(line); m != nil {
		return n.begin(m[1])
	}
	if m := netperfValue().FindStringSubmatch(line); m != nil {
		if n.values == nil {
			n.values = map[string]string{}
		}
		if _, again := n.values[m[1]]; again { // another test without a head
			if err := n.close(); err != nil {
				return err
			}
			n.values = map[string]string{}
		}
		n.values[m[1]] = m[2]
		return nil
	}
	switch {
	case len(n.all) == 0 || line == "":
		return nil
	case n.columns != nil:
		return n.csv(line)
	case n.head != "" && netperfRow().MatchString(line):
		return n.row(strings.Fields(line))
	case strings.Contains(line, "Throughput,") || strings.HasPrefix(line, "Throughput Units,"):
		fields, err := csv.NewReader(strings.NewReader(line)).Read()
		n.columns = fields
		return err
	case n.rows == 0:
		n.head += line + "\n"
	}
	return nil
}

// row reads a row of a classic table. The columns of utilisation follow those that are read.
func (n *netperf) row(fields []string) error {
	r := &n.all[len(n.all)-1]
	n.rows++
	test := r.Levels["netperf.test"]
	unit := netperfUnit().FindString(n.head)
	factor, err := factorOf(unit)
	switch {
	case unit == "":
		return fmt.Errorf("the table names no unit of throughput")
	case err != nil:
		return err
	case strings.HasPrefix(test, "UDP") && !strings.Contains(test, "RESPONSE"):
		return n.udp(fields, factor)
	case n.rows > 1: // socket sizes of the other side
		return nil
	case factor == 0:
		return n.classic(fields, 4, "transactions", 1)
	}
	return n.classic(fields, 3, "throughput", factor)
}

// classic reads the elapsed time and the rate after it.
func (n *netperf) classic(fields []string, at int, metric string, factor float64) error {
	r := &n.all[len(n.all)-1]
	if len(fields) < at+2 {
		return foreign.Truncated(len(fields), at+2)
	}
	v, err := foreign.Number(fields[at])
	if err != nil {
		return err
	}
	r.Length = foreign.Duration(v)
	return r.Set(metric, fields[at+1], factor)
}

// udp reads the row of the sender, then that of the receiver.
func (n *netperf) udp(fields []string, factor float64) error {
	r := &n.all[len(n.all)-1]
	switch {
	case n.rows == 1 && len(fields) >= 6:
		v, err := foreign.Number(fields[2])
		if err != nil {
			return err
		}
		r.Length = foreign.Duration(v)
		r.Levels["netperf.message"] = fields[1]
		return r.Set("sent", fields[5], factor)
	case n.rows == 2 && len(fields) >= 4:
		return r.Set("throughput", fields[3], factor)
	case n.rows > 2:
		return nil
	}
	return foreign.Truncated(len(fields), 4)
}

// csv reads the row below a line of columns, each with the name of an output of omni tests in words.
func (n *netperf) csv(line string) error {
	fields, err := csv.NewReader(strings.NewReader(line)).Read()
	if err != nil {
		return err
	}
	if len(fields) != len(n.columns) {
		return foreign.Truncated(len(fields), len(n.columns))
	}
	values := map[string]string{}
	for i, name := range n.columns {
		name = strings.ToUpper(strings.ReplaceAll(name, " ", "_"))
		for long, short := range map[string]string{
			"50TH_PERCENTILE_LATENCY_MICROSECONDS": "P50_LATENCY", "90TH_PERCENTILE_LATENCY_MICROSECONDS": "P90_LATENCY", "99TH_PERCENTILE_LATENCY_MICROSECONDS": "P99_LATENCY",
			"MEAN_LATENCY_MICROSECONDS": "MEAN_LATENCY", "MAXIMUM_LATENCY_MICROSECONDS": "MAX_LATENCY", "LOCAL_TRANSPORT_RETRANSMISSIONS": "LOCAL_TRANSPORT_RETRANS",
			"ELAPSED_TIME_(SEC)": "ELAPSED_TIME",
		} {
			if name == long {
				name = short
			}
		}
		values[name] = fields[i]
	}
	n.columns = nil
	return keywords(&n.all[len(n.all)-1], values)
}

// close converts the keywords of the last test.
func (n *netperf) close() error {
	values := n.values
	n.values = nil
	if values == nil {
		return nil
	}
	if len(n.all) == 0 || len(n.all[len(n.all)-1].Values) > 0 {
		n.all = append(n.all, foreign.NewRun("netperf"))
	}
	return keywords(&n.all[len(n.all)-1], values)
}

// keywords reads the outputs of an omni test by their keywords.
func keywords(r *foreign.Run, values map[string]string) error {
	factor, err := factorOf(values["THROUGHPUT_UNITS"])
	if err != nil {
		return err
	}
	if text, ok := values["ELAPSED_TIME"]; ok {
		v, err := foreign.Number(text)
		if err != nil {
			return err
		}
		r.Length = foreign.Duration(v)
	}
	if text := values["PROTOCOL"]; text != "" {
		r.Levels["netperf.protocol"] = text
	}
	metric := "throughput"
	if factor == 0 {
		metric, factor = "transactions", 1
	}
	if err := r.Set(metric, values["THROUGHPUT"], factor); err != nil {
		return fmt.Errorf("throughput %w", err)
	}
	if text, ok := values["LOCAL_TRANSPORT_RETRANS"]; ok && r.Length > 0 && !strings.HasPrefix(text, "-") {
		if err := r.Set("retransmits", text, 1/r.Length.Seconds()); err != nil {
			return err
		}
	}
	return latencies(r, values)
}

// latencies reads response times in µs; of streams they are times between calls.
func latencies(r *foreign.Run, values map[string]string) error {
	rate, ok := r.Values["transactions"]
	if !ok {
		return nil
	}
	n := foreign.Events(rate * r.Length.Seconds())
	if r.Length == 0 { // not printed: netperf runs for 10 s
		n = foreign.Events(rate * 10)
		r.Warn("the length of the test is not in the file, and is taken as 10 s, the default")
	}
	for key, name := range map[string]string{"MEAN_LATENCY": "mean", "MAX_LATENCY": "max", "P50_LATENCY": "p50", "P90_LATENCY": "p90", "P99_LATENCY": "p99"} {
		text, ok := values[key]
		if !ok || strings.HasPrefix(text, "-") { // not measured
			continue
		}
		v, err := foreign.Number(text)
		if err != nil {
			return err
		}
		if name == "mean" || name == "max" {
			r.Values[name] = v / 1e6
			continue
		}
		r.Quantile(name, v/1e6, n)
	}
	return nil
}
