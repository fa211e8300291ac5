// Package power reads what decides the speed of CPUs: frequencies, idle states, thermal
// throttling and power limits.
package power

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// State is the frequencies and idle states of the CPUs and the power of the packages. Counters
// are cumulative in a reading, and per second between two.
type State struct {
	At      float64  `json:"at"` // seconds on the clock of the reader
	CPUs    []CPU    `json:"cpus"`
	Domains []Domain `json:"domains,omitempty"`
}

// CPU is the speed of a CPU.
type CPU struct {
	Frequency float64 `json:"frequency,omitempty"` // gauge, in Hz; 0 if unknown
	Throttles float64 `json:"throttles,omitempty"` // thermal events of its core
	Throttled float64 `json:"throttled,omitempty"` // time of them; 0 if the kernel does not count it
	Idle      []Idle  `json:"idle,omitempty"`
}

// Idle is an idle state (C-state) of a CPU.
type Idle struct {
	Name    string  `json:"name"`
	Latency float64 `json:"latency"` // to leave it, in seconds, at most
	Usage   float64 `json:"usage"`   // times entered
	Time    float64 `json:"time"`    // in it
}

// Domain is a package with a power limit (RAPL).
type Domain struct {
	Name  string  `json:"name"`
	Power float64 `json:"power"` // energy in joules, so watts between two readings
	Limit float64 `json:"limit"` // gauge, in watts
}

// Tree is the files of a host.
type Tree interface {
	// Append reads a file and appends its content to a buffer.
	Append(buffer []byte, name string) ([]byte, error)
	// Names lists a folder, in any order.
	Names(folder string) ([]string, error)
}

// Reader reads the state of one host. It keeps what does not change.
type Reader struct {
	Tree Tree

	buffer []byte
	states [][]string // folders of the idle states, by CPU
	known  map[string]Idle
}

// Read takes a reading of some CPUs at an instant, in seconds.
func (r *Reader) Read(at float64, cpus int) (*State, error) {
	s := &State{At: at, CPUs: make([]CPU, cpus)}
	found := false
	for n := range s.CPUs {
		c := &s.CPUs[n]
		folder := fmt.Sprintf("sys/devices/system/cpu/cpu%d/", n)
		if khz, ok := r.number(folder + "cpufreq/scaling_cur_freq"); ok {
			c.Frequency, found = khz*1e3, true
		}
		c.Throttles, _ = r.number(folder + "thermal_throttle/core_throttle_count")
		if ms, ok := r.number(folder + "thermal_throttle/core_throttle_total_time_ms"); ok {
			c.Throttled = ms * 1e-3
		}
		if c.Idle = r.idle(n, folder+"cpuidle"); len(c.Idle) > 0 {
			found = true
		}
	}
	s.Domains = r.domains()
	if !found {
		return nil, errors.New("the kernel shows neither frequencies nor idle states, as in most VMs")
	}
	return s, nil
}

// idle reads the idle states of a CPU.
func (r *Reader) idle(cpu int, folder string) (all []Idle) {
	if r.known == nil {
		r.known = map[string]Idle{}
	}
	if len(r.states) <= cpu {
		r.states = append(r.states, make([][]string, cpu+1-len(r.states))...)
		names, _ := r.Tree.Names(folder)
		for n := range names { // numbered from 0
			at := folder + "/state" + strconv.Itoa(n) + "/"
			name, err := r.text(at + "name")
			if err != nil {
				break
			}
			latency, _ := r.number(at + "latency")
			r.states[cpu] = append(r.states[cpu], at)
			r.known[at] = Idle{Name: name, Latency: latency * 1e-6}
		}
	}
	for _, at := range r.states[cpu] {
		state := r.known[at]
		state.Usage, _ = r.number(at + "usage")
		micro, _ := r.number(at + "time")
		state.Time = micro * 1e-6
		all = append(all, state)
	}
	return all
}

// domains reads the packages of /sys/class/powercap.
func (r *Reader) domains() (all []Domain) {
	names, err := r.Tree.Names("sys/class/powercap")
	if err != nil {
		return nil
	}
	for _, name := range names {
		if strings.Count(name, ":") != 1 { // "intel-rapl:0" is a package, "intel-rapl:0:0" a part of it
			continue
		}
		at := "sys/class/powercap/" + name + "/"
		energy, ok := r.number(at + "energy_uj")
		limit, ok2 := r.number(at + "constraint_0_power_limit_uw")
		if ok && ok2 {
			all = append(all, Domain{name, energy * 1e-6, limit * 1e-6})
		}
	}
	return all
}

func (r *Reader) text(name string) (string, error) {
	text, err := r.Tree.Append(r.buffer[:0], name)
	if err != nil {
		return "", err
	}
	r.buffer = text[:0]
	return string(bytes.TrimSpace(text)), nil
}

func (r *Reader) number(name string) (float64, bool) {
	text, err := r.text(name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return float64(n), err == nil
}

// Between is the state from one reading to a later one; nil if there is no later one. A counter
// that decreased counts as 0.
func Between(a, b *State) *State {
	if a == nil || b == nil || b.At <= a.At {
		return nil
	}
	rate := func(before, after float64) float64 { return max(0, after-before) / (b.At - a.At) }
	s := &State{At: b.At}
	for n, c := range b.CPUs {
		if n >= len(a.CPUs) {
			break
		}
		was := a.CPUs[n]
		one := CPU{Frequency: c.Frequency, Throttles: rate(was.Throttles, c.Throttles), Throttled: rate(was.Throttled, c.Throttled)}
		for k, state := range c.Idle {
			if k < len(was.Idle) {
				one.Idle = append(one.Idle, Idle{state.Name, state.Latency, rate(was.Idle[k].Usage, state.Usage), rate(was.Idle[k].Time, state.Time)})
			}
		}
		s.CPUs = append(s.CPUs, one)
	}
	for n, d := range b.Domains {
		if n < len(a.Domains) && a.Domains[n].Name == d.Name {
			s.Domains = append(s.Domains, Domain{d.Name, rate(a.Domains[n].Power, d.Power), d.Limit})
		}
	}
	return s
}
