package hoststat

import (
	"bytes"
	"errors"
	"time"

	"plimsoll/internal/hoststat/parse"
	"plimsoll/internal/hoststat/pmu"
	"plimsoll/internal/platform"
)

// ticks is USER_HZ, fixed for user space by proc(5).
const ticks = 100.

// readCPUs reads /proc/stat.
func readCPUs(r *Reader, s *State) error {
	text, err := r.file("proc/stat")
	if err != nil {
		return err
	}
	return parseStat(text, s)
}

func parseStat(text []byte, s *State) error {
	var f []float64
	for line := range bytes.Lines(text) {
		key, rest, _ := bytes.Cut(line, []byte(" "))
		switch string(key) {
		case "intr":
			s.Interrupts, _ = parse.Number(rest)
		case "ctxt":
			s.Switches, _ = parse.Number(rest)
		case "processes":
			s.Forks, _ = parse.Number(rest)
		case "procs_running":
			s.Running, _ = parse.Number(rest)
		case "procs_blocked":
			s.Blocked, _ = parse.Number(rest)
		}
		cpu, ok := parse.Number(bytes.TrimPrefix(key, []byte("cpu")))
		if !ok || !bytes.HasPrefix(key, []byte("cpu")) || cpu >= mostCPUs {
			continue
		}
		if f = parse.Numbers(f[:0], rest); len(f) < 8 {
			continue
		}
		s.CPUs = grown(s.CPUs, int(cpu)+1)
		c := CPU{User: f[0], Nice: f[1], System: f[2], Idle: f[3], IOWait: f[4], IRQ: f[5], SoftIRQ: f[6], Steal: f[7]}
		if len(f) > 9 {
			c.Guest = f[8] + f[9]
		}
		for _, time := range c.Counters() {
			*time /= ticks
		}
		s.CPUs[int(cpu)] = c
	}
	if len(s.CPUs) == 0 {
		return errors.New("/proc/stat has no line of a CPU")
	}
	return nil
}

// mostCPUs is the largest number of CPUs that Linux can be built for.
const mostCPUs = 8192

// powerEvery is the distance of readings of frequencies and idle states in seconds: they take
// several files per CPU.
const powerEvery = 9.5

// readPower reads frequencies and idle states, or repeats the last reading of them.
func readPower(r *Reader, s *State) error {
	if r.noPower != nil {
		return r.noPower
	}
	if r.powered == nil || s.At >= r.powered.At+powerEvery {
		r.power.Tree = r.root
		now, err := r.power.Read(s.At, len(s.CPUs))
		if err != nil {
			r.noPower = err
			return err
		}
		r.powered = now
	}
	s.Power = r.powered
	return nil
}

// probeEvery is the distance of measurements of the cache in seconds: each takes about 3 ms.
const probeEvery = 4.5

// readCache measures the last-level cache of this host. Hosts behind a tree of files have none.
func readCache(r *Reader, s *State) error {
	root, ok := r.root.(interface{ CacheLatency() time.Duration })
	if !ok {
		return errors.New("it is measured on the host itself only")
	}
	if !r.Probe {
		return errors.New("it was not asked for")
	}
	if r.probed == 0 || s.At >= r.probed+probeEvery {
		r.probed = max(s.At, 1e-9)
		s.CacheLatency = root.CacheLatency().Seconds()
	}
	return nil
}

// readPMU reads the counters of the CPUs of this host.
func readPMU(r *Reader, s *State) (err error) {
	root, ok := r.root.(interface {
		Counters(cpus []int) (*pmu.Counters, error)
	})
	if !ok {
		return errors.New("they are read on the host itself only")
	}
	if r.noPMU != nil {
		return r.noPMU
	}
	if r.counters == nil {
		online, _ := r.line("sys/devices/system/cpu/online")
		cpus, err := platform.ParseCPUs(online)
		if err == nil {
			r.counters, err = root.Counters(cpus)
		}
		if err != nil {
			r.noPMU = err
			return err
		}
	}
	s.PMU, err = r.counters.Read()
	return err
}
