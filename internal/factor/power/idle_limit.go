package power

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/factor"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

const (
	none       = "none" // the level without a limit
	idleWords  = "idle states"
	idleRemedy = "most VMs have none: run the study on the host, booted with C-states on in the firmware and without cpuidle.off=1, idle=poll, idle=halt or intel_idle.max_cstate=0"
	// stateOff and stateOn are parts of a level that Get returns where a limit does not describe the states.
	stateOff, stateOn = "off:", "on"
)

// idleLimit is the longest exit latency of the idle states (C-states) that CPUs may enter. Deeper ones are disabled on all CPUs,
// which the kernel shows for each. A state that the kernel disables by default stays so. If states are disabled in another way, Get returns
// those of each group of CPUs by number: "0-3=off:2-3 4-7=on".
func idleLimit() factor.Factor {
	return factor.Factor{
		Root:    true,
		Name:    "host.idle_limit",
		Doc:     "longest exit latency of the idle states (C-states) that CPUs may enter; none for no limit, 0s for polling only",
		Example: []string{none, "10us"},
		Offers: func(ctx context.Context, p factor.Env) ([]string, error) {
			_, err := idleStates(ctx, p.Machine)
			return nil, err
		},
		Check: func(ctx context.Context, p factor.Env, level string) (string, error) {
			limit, err := idleLevel(level)
			if err != nil || p.Machine == nil {
				return limit.String(), err
			}
			all, err := idleStates(ctx, p.Machine)
			if err != nil {
				return "", err
			}
			if err := all.apply(limit); err != nil {
				return "", fmt.Errorf("level %q: %s: %w", level, p.Machine.Name(), err)
			}
			return all.level(), nil
		},
		Get: func(ctx context.Context, p factor.Env) (string, error) {
			all, err := idleStates(ctx, p.Machine)
			if err != nil {
				return "", err
			}
			return all.level(), nil
		},
		Set: setIdle,
		Effect: func(ctx context.Context, p factor.Env) (e factor.Effect, err error) {
			all, err := idleStates(ctx, p.Machine)
			for _, s := range all {
				e.Sets = append(e.Sets, s.file("disable"))
			}
			return e, err
		},
	}
}

// exitLatency is an exit latency in microseconds; negative for no limit.
type exitLatency int64

// String is the limit as a level.
func (l exitLatency) String() string {
	if l < 0 {
		return none
	}
	return parameter.Duration(time.Duration(l) * time.Microsecond).String()
}

// idleLevel parses a limit.
func idleLevel(level string) (exitLatency, error) {
	if level == none {
		return -1, nil
	}
	var d parameter.Duration
	if err := d.UnmarshalText([]byte(level)); err != nil || time.Duration(d) > time.Second || time.Duration(d)%time.Microsecond != 0 {
		return 0, fmt.Errorf("level %q is neither %s nor an exit latency of whole microseconds up to 1s, like 10us", level, none)
	}
	return exitLatency(time.Duration(d) / time.Microsecond), nil
}

// idleState is an idle state of a CPU.
type idleState struct {
	cpu, number int
	latency     exitLatency
	barred      bool // disabled by the kernel until somebody enables it
	off         bool
	was         bool // off, on the machine
}

// file is a file of the state.
func (s idleState) file(name string) string {
	return fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpuidle/state%d/%s", s.cpu, s.number, name)
}

// idleSet are the idle states of all CPUs of a machine, by CPU and number.
type idleSet []idleState

// idleStates reads the states of all CPUs.
func idleStates(ctx context.Context, m platform.Machine) (all idleSet, err error) {
	cpus, err := factor.Online(ctx, m)
	if err != nil {
		return nil, err
	}
	for _, cpu := range cpus {
		for number := 0; ; number++ {
			s, err := readIdle(ctx, m, cpu, number)
			if errors.Is(err, errors.ErrUnsupported) && number > 0 {
				break
			}
			if errors.Is(err, errors.ErrUnsupported) {
				err = fmt.Errorf("%w: %s", err, idleRemedy)
			}
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	return all, nil
}

func readIdle(ctx context.Context, m platform.Machine, cpu, number int) (idleState, error) {
	s := idleState{cpu: cpu, number: number}
	text, err := factor.Read(ctx, m, s.file("latency"), idleWords)
	if err != nil {
		return s, err
	}
	latency, err := strconv.ParseInt(text, 10, 32)
	if err != nil || latency < 0 {
		return s, fmt.Errorf("%s: read %s: %q is not a number of microseconds", m.Name(), s.file("latency"), text)
	}
	s.latency = exitLatency(latency)
	off, err := factor.Read(ctx, m, s.file("disable"), idleWords)
	if err != nil {
		return s, err
	}
	s.off, s.was = off != "0", off != "0"
	status, err := factor.Read(ctx, m, s.file("default_status"), idleWords) // since Linux 5.6
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return s, err
	}
	s.barred = status == "disabled"
	return s, nil
}

// apply disables the states beyond a limit and enables the others, in memory. No CPU may be left without a state.
func (all idleSet) apply(limit exitLatency) error {
	left := map[int]bool{}
	for i := range all {
		s := &all[i]
		s.off = s.barred || limit >= 0 && s.latency > limit
		left[s.cpu] = left[s.cpu] || !s.off
	}
	for _, s := range all {
		if !left[s.cpu] {
			return fmt.Errorf("CPU %d has no idle state that it leaves within %s; the fastest takes %s", s.cpu, limit, all.fastest(s.cpu))
		}
	}
	return nil
}

// fastest is the shortest exit latency of the states of a CPU that the kernel enables.
func (all idleSet) fastest(cpu int) exitLatency {
	own := slices.DeleteFunc(slices.Clone(all), func(s idleState) bool { return s.cpu != cpu || s.barred })
	if len(own) == 0 {
		return -1
	}
	return slices.MinFunc(own, func(a, b idleState) int { return cmp.Compare(a.latency, b.latency) }).latency
}

// level describes the states: by the limit that leaves exactly those, or all of them.
func (all idleSet) level() string {
	limit := exitLatency(0)
	for _, s := range all {
		if !s.off {
			limit = max(limit, s.latency)
		}
	}
	for _, candidate := range []exitLatency{-1, limit} {
		would := slices.Clone(all)
		if err := would.apply(candidate); err == nil && slices.Equal(would, all) {
			return candidate.String()
		}
	}
	return all.exact()
}

// exact lists the disabled states of each CPU.
func (all idleSet) exact() string {
	var cpus platform.CPUs
	off := map[int]platform.CPUs{}
	for _, s := range all {
		if !slices.Contains(cpus, s.cpu) {
			cpus = append(cpus, s.cpu)
		}
		if s.off {
			off[s.cpu] = append(off[s.cpu], s.number)
		}
	}
	levels := make([]string, len(cpus))
	for i, cpu := range cpus {
		levels[i] = stateOn
		if len(off[cpu]) > 0 {
			levels[i] = stateOff + off[cpu].String()
		}
	}
	return grouped(cpus, levels)
}

// restate disables the states that exact listed and enables the others, in memory.
func (all idleSet) restate(exact string) error {
	var cpus platform.CPUs
	for _, s := range all {
		cpus = append(cpus, s.cpu)
	}
	for part := range strings.FieldsSeq(exact) {
		some, states, err := groupPart(part, cpus)
		if err != nil {
			return err
		}
		var off platform.CPUs
		if states != stateOn {
			list, _ := strings.CutPrefix(states, stateOff)
			if off, err = platform.ParseCPUs(list); err != nil {
				return fmt.Errorf("%q are not disabled idle states: %w", part, err)
			}
		}
		for i := range all {
			if slices.Contains(some, all[i].cpu) {
				all[i].off = slices.Contains(off, all[i].number)
			}
		}
	}
	return nil
}

// setIdle writes the states that differ from a level, one that Get returns included.
func setIdle(ctx context.Context, p factor.Env, level string) error {
	all, err := idleStates(ctx, p.Machine)
	if err != nil {
		return err
	}
	if level == stateOn || strings.HasPrefix(level, stateOff) || strings.Contains(level, "=") {
		err = all.restate(level)
	} else if limit, parsed := idleLevel(level); parsed != nil {
		err = parsed
	} else {
		err = all.apply(limit)
	}
	if err != nil {
		return fmt.Errorf("%s: set the idle limit: %w", p.Machine.Name(), err)
	}
	for _, s := range all {
		if s.off == s.was {
			continue
		}
		text := "0"
		if s.off {
			text = "1"
		}
		if err := factor.Write(ctx, p.Machine, s.file("disable"), idleWords, text); err != nil {
			return err
		}
	}
	return nil
}
