package counter

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/measure/foreign"
	"plimsoll/internal/pattern"
)

// Sysstat is the JSON output of sysstat.
func Sysstat() foreign.Format {
	return foreign.Format{
		Name: "sysstat", Doc: "`sadf -j`, `mpstat -o JSON` and `iostat -o JSON` of sysstat 11 and later", Counters: true, Metrics: sysstatMetrics(),
		Absent: "Values are means over samples; of CPUs those of all together, of disks sums and the busiest. Device mapper and RAID are left out where their disks are there. " +
			"What was not recorded (`sar -A`) is absent. Processes, interrupts and file systems are skipped. " +
			"iostat has no times, unless `-t` asks for them with `S_TIME_FORMAT=ISO`. Its first sample counts from boot unless `-y` was given.",
		Sniff: func(head []byte) bool {
			return bytes.Contains(head, []byte(`"sysstat"`)) && bytes.Contains(head, []byte(`"hosts"`))
		},
		Parse: parseSysstat,
	}
}

func sysstatMetrics() []measure.Metric {
	m := func(name, unit, doc string) measure.Metric {
		return measure.Metric{Name: name, Unit: unit, Doc: doc, Better: measure.Neutral}
	}
	return []measure.Metric{
		m("sysstat.cpu.busy", "1", "share of CPU time that was neither idle nor waiting for I/O"), m("sysstat.cpu.user", "1", "share of CPU time in user space, guests included"),
		m("sysstat.cpu.system", "1", "share of CPU time in the kernel"), m("sysstat.cpu.iowait", "1", "share of CPU time waiting for I/O"),
		m("sysstat.cpu.softirq", "1", "share of CPU time in soft interrupts"), m("sysstat.cpu.steal", "1", "share of CPU time that the hypervisor took"),
		m("sysstat.context_switches", "1/s", "context switches per second"), m("sysstat.load", "1", "load average over a minute"), m("sysstat.run_queue", "1", "runnable tasks"),
		m("sysstat.memory.used", "1", "share of memory in use"), m("sysstat.disk.read", "B/s", "bytes read by all disks"), m("sysstat.disk.written", "B/s", "bytes written by all disks"),
		m("sysstat.disk.iops", "1/s", "I/O operations of all disks"), m("sysstat.disk.busy.max", "1", "share of time in which the busiest disk had I/O in flight"),
		m("sysstat.network.received", "B/s", "bytes received by all interfaces but lo"), m("sysstat.network.sent", "B/s", "bytes sent by all interfaces but lo"),
	}
}

type sysstatReport struct {
	Sysstat struct {
		Hosts []struct {
			Node       string          `json:"nodename"`
			Date       string          `json:"date"` // 2006-01-02, in other forms by locale
			Statistics []sysstatSample `json:"statistics"`
		} `json:"hosts"`
	} `json:"sysstat"`
}

// sysstatSample is one sample of any of the programs.
type sysstatSample struct {
	Timestamp json.RawMessage              `json:"timestamp"` // sadf: an object; mpstat, iostat: text
	CPUs      []map[string]json.RawMessage `json:"cpu-load"`
	AllCPUs   []map[string]json.RawMessage `json:"cpu-load-all"`
	Average   map[string]float64           `json:"avg-cpu"` // iostat
	Disks     []map[string]json.RawMessage `json:"disk"`
	Switches  map[string]float64           `json:"process-and-context-switch"`
	Queue     map[string]float64           `json:"queue"`
	Memory    map[string]json.RawMessage   `json:"memory"`
	Network   struct {
		Interfaces []map[string]json.RawMessage `json:"net-dev"`
	} `json:"network"`
}

func parseSysstat(t *foreign.Text) ([]foreign.Run, error) {
	documents, err := foreign.Documents[sysstatReport](t)
	if err != nil {
		return nil, err
	}
	var all []foreign.Run
	for _, d := range documents {
		if n := len(d.Sysstat.Hosts); n != 1 {
			return nil, errors.New("it has the statistics of several hosts, or of none: export one host per file")
		}
		r := foreign.NewRun("sysstat")
		collected := means{}
		for i := range d.Sysstat.Hosts[0].Statistics {
			s := &d.Sysstat.Hosts[0].Statistics[i]
			if at, ok := s.time(d.Sysstat.Hosts[0].Date); ok {
				if r.Start.IsZero() {
					r.Start = at
				}
				r.Length = max(0, at.Sub(r.Start))
			}
			s.into(collected)
		}
		collected.into(r.Counters)
		if len(collected) == 0 {
			r.Void = "it has no sample with a known counter"
		}
		all = append(all, r)
	}
	return all, nil
}

// time is the time of a sample: of sadf an object, of mpstat a time on the date of its start, of iostat with
// S_TIME_FORMAT=ISO a date with a time. Times without a zone are taken as UTC.
func (s *sysstatSample) time(date string) (time.Time, bool) {
	var at struct {
		Date string `json:"date"`
		Time string `json:"time"`
	}
	var text string
	if json.Unmarshal(s.Timestamp, &text) == nil {
		if of, err := time.Parse("2006-01-02T15:04:05-0700", text); err == nil {
			return of.UTC(), true
		}
		at.Date, at.Time = date, text
	} else if json.Unmarshal(s.Timestamp, &at) != nil {
		return time.Time{}, false
	}
	of, err := time.Parse("2006-01-02 15:04:05", at.Date+" "+at.Time)
	return of, err == nil
}

// number is a field that is a number; several versions name it differently.
func number(fields map[string]json.RawMessage, names ...string) (float64, bool) {
	for _, name := range names {
		var v float64
		if text, ok := fields[name]; ok && json.Unmarshal(text, &v) == nil {
			return v, true
		}
	}
	return 0, false
}

func text(fields map[string]json.RawMessage, names ...string) string {
	for _, name := range names {
		var v string
		if raw, ok := fields[name]; ok && json.Unmarshal(raw, &v) == nil {
			return v
		}
	}
	return ""
}

func (s *sysstatSample) into(m means) {
	for _, list := range [][]map[string]json.RawMessage{s.AllCPUs, s.CPUs} {
		if cpu := whole(list); cpu != nil {
			processors(m, func(names ...string) (float64, bool) { return number(cpu, names...) })
			break
		}
	}
	if s.Average != nil {
		processors(m, func(names ...string) (float64, bool) {
			for _, name := range names {
				if v, ok := s.Average[name]; ok {
					return v, true
				}
			}
			return 0, false
		})
	}
	for name, of := range map[string]struct {
		values map[string]float64
		key    string
	}{"sysstat.context_switches": {s.Switches, "cswch"}, "sysstat.load": {s.Queue, "ldavg-1"}, "sysstat.run_queue": {s.Queue, "runq-sz"}} {
		if v, ok := of.values[of.key]; ok {
			m.add(name, v)
		}
	}
	if v, ok := number(s.Memory, "memused-percent"); ok {
		m.add("sysstat.memory.used", v/100)
	}
	s.devices(m)
}

// whole is the line of all CPUs together.
func whole(list []map[string]json.RawMessage) map[string]json.RawMessage {
	for _, cpu := range list {
		if of := text(cpu, "cpu"); of == "all" || of == "-1" {
			return cpu
		}
	}
	return nil
}

func processors(m means, get func(names ...string) (float64, bool)) {
	idle, ok := get("idle")
	if !ok {
		return
	}
	wait, _ := get("iowait")
	user, _ := get("user", "usr")
	nice, _ := get("nice")
	guest, _ := get("guest")
	gnice, _ := get("gnice")
	m.add("sysstat.cpu.busy", max(0, 100-idle-wait)/100)
	m.add("sysstat.cpu.user", (user+nice+guest+gnice)/100)
	m.add("sysstat.cpu.iowait", wait/100)
	for name, keys := range map[string][]string{"system": {"system", "sys"}, "softirq": {"soft"}, "steal": {"steal"}} {
		if v, ok := get(keys...); ok {
			m.add("sysstat.cpu."+name, v/100)
		}
	}
}

// disks are the devices but those that the kernel maps to others (LVM, multipath, RAID), which would count twice.
func (s *sysstatSample) disks() []map[string]json.RawMessage {
	real := slices.DeleteFunc(slices.Clone(s.Disks), func(d map[string]json.RawMessage) bool {
		return sysstatMapped().MatchString(text(d, "disk-device", "disk_device"))
	})
	if len(real) == 0 {
		return s.Disks
	}
	return real
}

var sysstatMapped = pattern.Of(`^(?:dm-|md)\d+$`)

// devices sums up disks and interfaces. iostat names them differently, and has kB; sadf before 11.5 has sectors of 512 B.
func (s *sysstatSample) devices(m means) {
	var read, written, operations, busy float64
	disks := s.disks()
	for _, d := range disks {
		r, rw := number(d, "rkB", "rkB/s", "kB_read/s")
		w, _ := number(d, "wkB", "wkB/s", "kB_wrtn/s")
		if !rw {
			r, _ = number(d, "rd_sec")
			w, _ = number(d, "wr_sec")
			r, w = r/2, w/2
		}
		n, ok := number(d, "tps")
		if !ok {
			reads, _ := number(d, "r/s")
			writes, _ := number(d, "w/s")
			n = reads + writes
		}
		u, _ := number(d, "util-percent", "util")
		read, written, operations, busy = read+r*1024, written+w*1024, operations+n, max(busy, u/100)
	}
	if len(disks) > 0 {
		m.add("sysstat.disk.read", read)
		m.add("sysstat.disk.written", written)
		m.add("sysstat.disk.iops", operations)
		m.add("sysstat.disk.busy.max", busy)
	}
	var received, sent float64
	for _, i := range s.Network.Interfaces {
		if text(i, "iface") == "lo" {
			continue
		}
		r, _ := number(i, "rxkB")
		t, _ := number(i, "txkB")
		received, sent = received+r*1024, sent+t*1024
	}
	if len(s.Network.Interfaces) > 0 {
		m.add("sysstat.network.received", received)
		m.add("sysstat.network.sent", sent)
	}
}
