package trace

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/hoststat"
)

// DetailFormat is the format of details in this version.
const DetailFormat = 1

// Detail is what is kept of a host during the load of a trial.
type Detail struct {
	Format             int     `json:"format"`
	Machine            string  `json:"machine"`
	Guests             []int   `json:"guests,omitempty"` // processes that run the other machines; none if it is not their host
	Served             bool    `json:"served,omitempty"` // the study has a service: see hoststat.Process.Part
	hoststat.Recording         // the mean is over the window of the trial, the intervals are of the whole load
	Clock              *Clock  `json:"clock,omitempty"`
	Made               []Event `json:"events,omitempty"` // from elsewhere: what the study made happen, such as a migration, and what the service did
}

// Clock is the distance between two clocks in seconds: the machine's minus the lab's.
type Clock struct {
	Offset      float64 `json:"offset"`
	Uncertainty float64 `json:"uncertainty"`
}

const (
	mostWritten   = 120     // intervals of a file
	mostFile      = 1 << 20 // bytes of a file, about
	mostProcesses = 12      // processes of an interval in a file
	leastUse      = 0.002   // CPUs below which a process is left out
)

// Encode is the detail as a file of at most about 1 MiB. Of a long time, or of many CPUs, the
// intervals are longer.
func (d *Detail) Encode() ([]byte, error) {
	out := *d
	out.Format = DetailFormat
	out.Intervals = pack(d.Intervals, mostWritten)
	if d.Mean != nil {
		out.Mean = Combine([]hoststat.Interval{*d.Mean})
		round(out.Mean)
	}
	for {
		text, err := json.Marshal(out)
		if err != nil {
			return nil, fmt.Errorf("encode the state of host %s: %w", d.Machine, err)
		}
		if n := len(out.Intervals); len(text) <= mostFile || n < 2 {
			return append(text, '\n'), nil
		}
		out.Intervals = pack(d.Intervals, len(out.Intervals)/2)
	}
}

// Decode reads such a file.
func Decode(text []byte) (*Detail, error) {
	var d Detail
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("read the state of a host: %w", err)
	}
	switch {
	case d.Format != DetailFormat:
		return nil, fmt.Errorf("the state of a host has format %d, this version reads %d", d.Format, DetailFormat)
	case d.Facts == nil || d.Mean == nil || d.Mean.Seconds <= 0:
		return nil, fmt.Errorf("the state of host %q lacks its facts or its mean", d.Machine)
	}
	d.Intervals = slices.DeleteFunc(d.Intervals, func(i hoststat.Interval) bool { return i.Seconds <= 0 })
	return &d, nil
}

// pack combines intervals to at most a number of them, slim and rounded.
func pack(list []hoststat.Interval, most int) []hoststat.Interval {
	each := (len(list) + most - 1) / max(1, most)
	var out []hoststat.Interval
	for n := 0; n < len(list); n += each {
		if i := Combine(list[n:min(n+each, len(list))]); i != nil {
			slim(i)
			round(i)
			out = append(out, *i)
		}
	}
	return out
}

// gauges are the entries of /proc/meminfo that intervals of a file have.
var gauges = map[string]bool{
	"MemTotal": true, "MemFree": true, "MemAvailable": true, "Cached": true, "Dirty": true, "Writeback": true, "AnonHugePages": true,
	"SwapTotal": true, "SwapFree": true, "Shmem": true, "Slab": true,
}

// slim drops what is zero, and processes that did little.
func slim(i *hoststat.Interval) {
	keep := func(m map[string]float64) {
		for name, x := range m {
			if x == 0 {
				delete(m, name)
			}
		}
	}
	keep(i.VM)
	keep(i.Net)
	for name := range i.Memory {
		if !gauges[name] {
			delete(i.Memory, name)
		}
	}
	for name, list := range i.SoftIRQs {
		if total(list) == 0 {
			delete(i.SoftIRQs, name)
		}
	}
	irqs := i.IRQs[:0]
	for _, irq := range i.IRQs {
		if total(irq.PerCPU) >= 1 {
			irqs = append(irqs, irq)
		}
	}
	i.IRQs = irqs
	kept := i.Processes[:0]
	for _, p := range i.Processes {
		p.Tasks, p.Command = nil, ""
		if len(kept) < mostProcesses && (p.Busy()+p.Reaped >= leastUse || p.State == "D") {
			kept = append(kept, p)
		}
	}
	i.Processes = kept
}

func total(list []float64) float64 {
	sum := 0.
	for _, x := range list {
		sum += x
	}
	return sum
}

// program is a command line without arguments, which may hold secrets: the program, the name of a
// guest, and what plimsoll calls its own processes. A title that a server gave itself is kept.
func program(command string) string {
	words := strings.Fields(command)
	if len(words) < 2 || strings.HasSuffix(words[0], ":") {
		return command
	}
	out := words[0]
	if own := words[1]; len(words) == 2 && (own == "worker" || own == hoststat.FollowCommand) {
		out += " " + own
	}
	if at := slices.Index(words, "-name"); at > 0 && at+1 < len(words) {
		out += " -name " + words[at+1]
	}
	return out
}

// round rounds all numbers to four digits, and removes arguments of programs.
func round(i *hoststat.Interval) {
	list := func(values []*float64) {
		for _, x := range values {
			*x = rounded(*x)
		}
	}
	each := func(m map[string]float64) {
		for name, x := range m {
			m[name] = rounded(x)
		}
	}
	slice := func(values []float64) {
		for n := range values {
			values[n] = rounded(values[n])
		}
	}
	list([]*float64{&i.Interrupts, &i.Switches, &i.Forks, &i.Running, &i.Blocked})
	for n := range i.CPUs {
		list(i.CPUs[n].Counters())
	}
	for _, counts := range i.SoftIRQs {
		slice(counts)
	}
	for n := range i.IRQs {
		slice(i.IRQs[n].PerCPU)
	}
	for name, p := range i.Pressure {
		list(p.Counters())
		i.Pressure[name] = p
	}
	each(i.VM)
	each(i.Net)
	for n := range i.Nodes {
		each(i.Nodes[n].Stat)
	}
	for n := range i.Disks {
		list(i.Disks[n].Counters())
	}
	for n := range i.Links {
		list(i.Links[n].Counters())
	}
	for n := range i.Processes {
		p := &i.Processes[n]
		p.Command, p.Origin = program(p.Command), program(p.Origin)
		list(p.Counters())
		for t := range p.Tasks {
			list(p.Tasks[t].Counters())
		}
	}
	for n := range i.Groups {
		list(i.Groups[n].Counters())
	}
}

// rounded has four significant digits.
func rounded(x float64) float64 {
	if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
}
