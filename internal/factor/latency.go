package factor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/guest/netem"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// noLatency is the level without an emulator.
const noLatency = "none"

// emulator is the kind of the delaying queueing discipline.
const emulator = "netem"

// longestLatency guards against a wrong unit.
const longestLatency = 10 * time.Second

// Latency is the delay that netem adds to each packet sent by an interface. It is set and read
// by plimsoll's own program on the machine, which is exact, or by tc if that does not start.
func Latency() Factor {
	return Factor{
		Root:    true,
		Name:    "network.latency",
		Doc:     "delay of packets sent by a network interface (netem)",
		Target:  networkInterface,
		Example: []string{noLatency, "10ms"},
		Offers: func(ctx context.Context, p Env) ([]string, error) {
			_, err := latency(ctx, p)
			return nil, err
		},
		Check: func(_ context.Context, _ Env, level string) (string, error) {
			if level == noLatency {
				return level, nil
			}
			d, err := parseLatency(level)
			return parameter.Duration(d).String(), err
		},
		Get: latency,
		Set: func(ctx context.Context, p Env, level string) error {
			// Settings by others would be lost.
			if _, err := latency(ctx, p); err != nil {
				return err
			}
			if level == noLatency {
				_, err := emulate(ctx, p, "remove", netem.Settings{})
				return err
			}
			d, err := parseLatency(level)
			if err != nil {
				return err
			}
			_, err = emulate(ctx, p, "set", netem.Settings{Delay: d, Limit: netem.DefaultLimit})
			return err
		},
		Effect: func(_ context.Context, p Env) (Effect, error) {
			return Effect{Sets: []string{"qdisc " + p.Target}}, nil
		},
	}
}

// parseLatency parses a level. tc prints whole microseconds in six digits, so that finer
// levels could not be read back.
func parseLatency(level string) (time.Duration, error) {
	var p parameter.Duration
	err := p.UnmarshalText([]byte(level))
	d, step := time.Duration(p), time.Microsecond
	if d >= time.Second {
		step = time.Millisecond
	}
	if err != nil || d < 0 || d > longestLatency || d%step != 0 {
		return 0, fmt.Errorf("level %q is neither %s nor a time in whole microseconds up to %v, in milliseconds from 1s on", level, noLatency, longestLatency)
	}
	return d, nil
}

// latency reads the level. Other queueing disciplines and settings are an error: they could
// not be restored.
func latency(ctx context.Context, p Env) (string, error) {
	s, err := emulate(ctx, p, "read", netem.Settings{})
	if err != nil {
		return "", err
	}
	n := s.Netem
	switch {
	case n == nil && (s.Default || s.Root == ""):
		return noLatency, nil
	case n == nil:
		return "", fmt.Errorf("%s: %s has a queueing discipline %s of its own, which an emulator would remove: tc qdisc del dev %s root", p.Machine.Name(), p.Target, s.Root, p.Target)
	case s.Foreign || n.Limit != netem.DefaultLimit:
		return "", fmt.Errorf("%s: %s has a network emulator that plimsoll did not set and could not restore: tc qdisc del dev %s root", p.Machine.Name(), p.Target, p.Target)
	}
	return parameter.Duration(n.Delay.Round(time.Microsecond)).String(), nil
}

// emulate reads, sets or removes the emulator.
func emulate(ctx context.Context, p Env, do string, s netem.Settings) (netem.State, error) {
	if err := checkInterface(p.Target); err != nil {
		return netem.State{}, err
	}
	r, err := itself(ctx, p, netem.Order{Do: do, Link: p.Target, Settings: s})
	if err != nil { // it does not start
		return byTC(ctx, p, do, s, err)
	}
	var now netem.State
	if err := r.Killed("plimsoll"); err != nil {
		return now, fmt.Errorf("%s: network emulator of %s: %w", p.Machine.Name(), p.Target, err)
	}
	if r.Exit != 0 {
		return now, refusedBy(p, "plimsoll", r.Stderr)
	}
	if err := json.Unmarshal(r.Stdout, &now); err != nil {
		return now, fmt.Errorf("%s: network emulator of %s: read the response: %w", p.Machine.Name(), p.Target, err)
	}
	return now, nil
}

// itself runs plimsoll's own program on the machine.
func itself(ctx context.Context, p Env, o netem.Order) (platform.Result, error) {
	c, ok := p.Machine.(platform.Carrier)
	if !ok {
		return platform.Result{}, errors.New("the machine has no copy of plimsoll")
	}
	self, err := c.Self(ctx)
	if err != nil {
		return platform.Result{}, err
	}
	return p.Machine.Run(ctx, platform.Command{Argv: []string{self, netem.Command}, Stdin: bytes.NewReader(o.Line())})
}

// byTC is for a machine on which plimsoll's own program does not start. tc sets multiples of
// 64 ns and reads microseconds, so that of short delays only multiples of 8 us are read back
// exactly.
func byTC(ctx context.Context, p Env, do string, s netem.Settings, before error) (netem.State, error) {
	argv := []string{"tc", "-j", "qdisc", "show", "dev", p.Target, "root"}
	switch do {
	case "set":
		argv = []string{"tc", "qdisc", "replace", "dev", p.Target, "root", "netem", "limit", strconv.Itoa(int(s.Limit)), "delay", strconv.FormatInt(s.Delay.Microseconds(), 10) + "us"}
	case "remove":
		now, err := byTC(ctx, p, "read", s, before)
		if err != nil || now.Netem == nil {
			return now, err
		}
		argv = []string{"tc", "qdisc", "del", "dev", p.Target, "root"}
	}
	r, err := p.Machine.Run(ctx, platform.Command{Argv: argv})
	switch {
	case err != nil && ctx.Err() != nil:
		return netem.State{}, fmt.Errorf("%s: %w", p.Machine.Name(), err)
	case err != nil:
		return netem.State{}, fmt.Errorf("%s: network emulator of %s: neither plimsoll nor tc can be run there: apt install iproute2 (or dnf install iproute-tc): %w", p.Machine.Name(), p.Target, errors.Join(before, err))
	case r.Signal != "":
		return netem.State{}, fmt.Errorf("%s: network emulator of %s: %w", p.Machine.Name(), p.Target, r.Killed("tc"))
	case r.Exit != 0:
		return netem.State{}, refusedBy(p, "tc", r.Stderr)
	case do != "read":
		return netem.State{}, nil
	}
	return parseTC(p.Target, r.Stdout)
}

func refusedBy(p Env, who string, said []byte) error {
	text := strings.Join(strings.Fields(string(said)), " ")
	switch {
	case strings.Contains(text, "Specified qdisc kind is unknown"), strings.Contains(text, "no network emulator"):
		return fmt.Errorf("%s: its kernel has no network emulator: modprobe sch_netem, or use a kernel with it: %w", p.Machine.Name(), errors.ErrUnsupported)
	case strings.Contains(text, "Cannot find device"), strings.Contains(text, "no such network interface"):
		return fmt.Errorf("%s has no network interface %s", p.Machine.Name(), p.Target)
	}
	return fmt.Errorf("%s: network emulator of %s: %s: %s", p.Machine.Name(), p.Target, who, text)
}

// parseTC parses the output of tc -j qdisc show, a list whose root element is used:
//
// [{"kind":"netem","handle":"8001:","root":true,"refcnt":2,"options":{"limit":1000,"delay":{"delay":0.01,"jitter":0,"correlation":0},"ecn":false,"gap":0}}]
func parseTC(link string, text []byte) (netem.State, error) {
	s := netem.State{Link: link, Default: true}
	var all []struct {
		Kind, Handle string
		Root         bool
		Options      map[string]json.RawMessage
	}
	if len(bytes.TrimSpace(text)) > 0 { // some versions print nothing without a qdisc
		if err := json.Unmarshal(text, &all); err != nil {
			return s, fmt.Errorf("read the output of tc about %s: %w", link, err)
		}
	}
	for _, q := range all {
		if !q.Root {
			continue
		}
		s.Root, s.Default = q.Kind, q.Handle == "0:"
		if q.Kind != emulator {
			continue
		}
		s.Default, s.Netem = false, &netem.Settings{}
		for name, value := range q.Options {
			if err := tcOption(&s, name, value); err != nil {
				return s, fmt.Errorf("read the output of tc about %s: %s: %w", link, name, err)
			}
		}
	}
	return s, nil
}

// tcOption reads one option of an emulator.
func tcOption(s *netem.State, name string, value json.RawMessage) error {
	switch name {
	case "limit":
		return json.Unmarshal(value, &s.Netem.Limit)
	case "delay":
		var d struct{ Delay, Jitter, Correlation float64 } // seconds, and a share
		err := json.Unmarshal(value, &d)
		s.Netem.Delay = time.Duration(math.Round(d.Delay * 1e9))
		s.Foreign = s.Foreign || d.Jitter != 0 || d.Correlation != 0
		return err
	case "ecn", "gap", "seed":
		return nil // said of every one
	}
	s.Foreign = true
	return nil
}
