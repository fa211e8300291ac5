package counter

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/pattern"
)

// Esxtop is what esxtop writes in batch mode.
func Esxtop() foreign.Format {
	return foreign.Format{
		Name: "esxtop", Doc: "`esxtop -b` and `resxtop -b` (PDH-CSV 4.0)", Counters: true, Metrics: esxtopMetrics(),
		Absent: "Of tens of thousands of columns, the listed counters are read: of the host, and sums, means and maxima over vCPUs, adapters and ports. The first sample is skipped: it may count from the start of the host. " +
			"Values are means over samples; the time zone is that of the header.",
		Sniff: func(head []byte) bool { return bytes.Contains(head, []byte("(PDH-CSV 4.0)")) },
		Parse: parseEsxtop,
	}
}

// fold says how the instances of a counter become one value.
type fold int

const (
	single fold = iota
	sum
	average
	largest
)

// esxtopCounters are the counters, by group and name of a column. An instance must match, if there is a pattern.
var esxtopCounters = []struct {
	metric, unit, group, counter string
	instance                     pattern.Pattern
	factor                       float64
	fold                         fold
	doc                          string
}{
	{"esxtop.cpu.util", "1", "Physical Cpu", "% Util Time", esxtopTotal, 0.01, single, "share of the logical CPUs in use"},
	{"esxtop.cpu.core_util", "1", "Physical Cpu", "% Core Util Time", esxtopTotal, 0.01, single, "share of the cores in use"},
	{"esxtop.cpu.used", "1", "Physical Cpu", "% Processor Time", esxtopTotal, 0.01, single, "share of the nominal capacity in use; above 1 with turbo"},
	{"esxtop.memory.free", "B", "Memory", "Free MBytes", nil, 1 << 20, single, "free memory of the host"},
	{"esxtop.memory.swap_used", "B", "Memory", "Swap Used MBytes", nil, 1 << 20, single, "swapped memory of the host"},
	{"esxtop.memory.balloon", "B", "Memory", "Memctl Current MBytes", nil, 1 << 20, single, "memory reclaimed by balloons"},
	{"esxtop.vcpu.ready.mean", "1", "Vcpu", "% Ready", esxtopVcpu, 0.01, average, "share of time in which a vCPU waited for a CPU, mean over vCPUs"},
	{"esxtop.vcpu.ready.max", "1", "Vcpu", "% Ready", esxtopVcpu, 0.01, largest, "the same of the vCPU that waited most"},
	{"esxtop.vcpu.costop.max", "1", "Vcpu", "% CoStop", esxtopVcpu, 0.01, largest, "share of time in which a vCPU waited for its siblings, largest"},
	{"esxtop.disk.commands", "1/s", "Physical Disk Adapter", "Commands/sec", nil, 1, sum, "commands of all storage adapters"},
	{"esxtop.disk.read", "B/s", "Physical Disk Adapter", "MBytes Read/sec", nil, 1 << 20, sum, "bytes read by all storage adapters"},
	{"esxtop.disk.written", "B/s", "Physical Disk Adapter", "MBytes Written/sec", nil, 1 << 20, sum, "bytes written by all storage adapters"},
	{"esxtop.disk.device_latency.max", "s", "Physical Disk Adapter", "Average Driver MilliSec/Command", nil, 1e-3, largest, "mean latency in the device (DAVG), largest of the adapters"},
	{"esxtop.disk.kernel_latency.max", "s", "Physical Disk Adapter", "Average Kernel MilliSec/Command", nil, 1e-3, largest, "mean latency in the kernel (KAVG), largest of the adapters"},
	{"esxtop.disk.guest_latency.max", "s", "Physical Disk Adapter", "Average Guest MilliSec/Command", nil, 1e-3, largest, "mean latency as guests see it (GAVG), largest of the adapters"},
	{"esxtop.network.received", "B/s", "Network Port", "MBits Received/sec", esxtopUplink, 1e6 / 8, sum, "bytes received by physical adapters"},
	{"esxtop.network.sent", "B/s", "Network Port", "MBits Transmitted/sec", esxtopUplink, 1e6 / 8, sum, "bytes sent by physical adapters"},
	{"esxtop.network.dropped.max", "1", "Network Port", "% Inbound Packets Dropped", nil, 0.01, largest, "share of dropped inbound packets, largest of the ports"},
}

var (
	esxtopTotal  = pattern.Of(`^_Total$`)
	esxtopVcpu   = pattern.Of(`:vmx-vcpu-\d+`)
	esxtopUplink = pattern.Of(`:vmnic\d+$`)
	esxtopName   = pattern.Of(`^\\\\([^\\]*)\\([^\\(]+?)(?:\((.*)\))?\\([^\\]+)$`)
	esxtopZone   = pattern.Of(`\(PDH-CSV 4\.0\) \([^)]*\)\((-?\d+)\)`)
)

func esxtopMetrics() (all []measure.Metric) {
	for _, c := range esxtopCounters {
		all = append(all, measure.Metric{Name: c.metric, Unit: c.unit, Doc: c.doc, Better: measure.Neutral})
	}
	return all
}

// esxtop reads the samples of a file.
type esxtop struct {
	columns int
	at      [][]int // indices of the columns of each counter
	zone    time.Duration
	samples int
	first   time.Time
	last    time.Time
	means   means
}

func parseEsxtop(t *foreign.Text) ([]foreign.Run, error) {
	e := &esxtop{means: means{}}
	for t.Next() {
		line := t.Line()
		if strings.TrimSpace(line) == "" {
			continue
		}
		var err error
		if e.at == nil {
			err = e.head(line)
		} else {
			err = e.sample(line)
		}
		if err != nil {
			return nil, t.Errorf("%w", err)
		}
	}
	if t.Err() != nil {
		return nil, t.Err()
	}
	r := foreign.NewRun("esxtop")
	if e.samples < 2 {
		r.Void = "it has fewer than 2 samples, of which the first is skipped"
		return []foreign.Run{r}, nil
	}
	r.Start, r.Length = e.first, e.last.Sub(e.first)
	e.means.into(r.Counters)
	return []foreign.Run{r}, nil
}

func fieldsOf(line string) ([]string, error) {
	r := csv.NewReader(strings.NewReader(line))
	r.LazyQuotes, r.FieldsPerRecord = true, -1
	return r.Read()
}

// head finds the columns of the counters.
func (e *esxtop) head(line string) error {
	names, err := fieldsOf(line)
	if err != nil {
		return err
	}
	if m := esxtopZone().FindStringSubmatch(names[0]); m != nil {
		minutes, err := strconv.Atoi(m[1])
		if err == nil && minutes > -24*60 && minutes < 24*60 {
			e.zone = time.Duration(minutes) * time.Minute
		}
	}
	e.columns, e.at = len(names), make([][]int, len(esxtopCounters))
	found := false
	for i, name := range names[1:] {
		m := esxtopName().FindStringSubmatch(name)
		if m == nil {
			continue
		}
		for k, c := range esxtopCounters {
			if m[2] == c.group && m[4] == c.counter && (c.instance == nil || c.instance().MatchString(m[3])) {
				e.at[k], found = append(e.at[k], i+1), true
			}
		}
	}
	if !found {
		return fmt.Errorf("none of its %d columns is one of the counters that are read: was esxtop run with a narrow list of fields?", len(names))
	}
	return nil
}

func (e *esxtop) sample(line string) error {
	fields, err := fieldsOf(line)
	if err != nil {
		return err
	}
	if len(fields) < e.columns { // the last line of a run that was interrupted, or one in which a VM is gone
		return foreign.Truncated(len(fields), e.columns)
	}
	at, err := time.Parse("01/02/2006 15:04:05", fields[0][:min(len(fields[0]), 19)])
	if err != nil {
		return fmt.Errorf("%q is no time such as 05/15/2017 06:49:37", fields[0])
	}
	at = at.Add(e.zone)
	e.samples++
	if e.samples == 1 {
		e.first, e.last = at, at
		return nil
	}
	e.last = at
	for k, c := range esxtopCounters {
		if v, ok, err := folded(fields, e.at[k], c.fold); err != nil {
			return fmt.Errorf("%s: %w", c.counter, err)
		} else if ok {
			e.means.add(c.metric, v*c.factor)
		}
	}
	return nil
}

// folded is one value of all instances of a counter in a sample.
func folded(fields []string, at []int, how fold) (value float64, ok bool, err error) {
	n := 0
	for _, i := range at {
		if fields[i] == "" {
			continue
		}
		v, err := foreign.Number(fields[i])
		if err != nil {
			return 0, false, err
		}
		n++
		if how == largest {
			value = max(value, v)
		} else {
			value += v
		}
	}
	if how == average && n > 0 {
		value /= float64(n)
	}
	return value, n > 0, nil
}
