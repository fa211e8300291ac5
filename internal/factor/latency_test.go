package factor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/guest/netem"
	"plimsoll/internal/platform"
)

// wire is a machine with an interface eth0, as tc or as plimsoll's own program there sees it. What tc prints is that of iproute2 6.1
// over Linux 6.1.
type wire struct {
	platform.Machine
	root   string // what else is at the root, as tc prints it
	delay  time.Duration
	limit  int
	extra  string // options that tc prints beside
	noTC   bool
	lacks  bool // a kernel without the emulator
	asked  []string
	silent bool // tc prints nothing where there is nothing
}

func (w *wire) Name() string { return "here" }

func (w *wire) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	w.asked = append(w.asked, c.Argv[0])
	if c.Argv[0] == "tc" && !w.noTC {
		return w.tc(c.Argv[1:]), nil
	}
	if c.Argv[0] != "/self" {
		return platform.Result{}, errors.New("executable file not found in $PATH")
	}
	var o netem.Order
	text, _ := io.ReadAll(c.Stdin)
	if err := json.Unmarshal(text, &o); err != nil || c.Argv[1] != netem.Command {
		return platform.Result{}, fmt.Errorf("%v: %v", c.Argv, err)
	}
	switch {
	case o.Link != "eth0":
		return platform.Result{Exit: 3, Stderr: []byte("plimsoll netem: find the link: route ip+net: no such network interface\n")}, nil
	case o.Do == "set" && w.lacks:
		return platform.Result{Exit: 3, Stderr: []byte("plimsoll netem: this kernel has no network emulator (module sch_netem)\n")}, nil
	case o.Do == "set":
		w.delay, w.limit = o.Settings.Delay, int(o.Settings.Limit)
	case o.Do == "remove":
		w.limit = 0
	}
	s := netem.State{Link: o.Link, Root: "noqueue", Default: true}
	if w.limit > 0 {
		s = netem.State{Link: o.Link, Root: "netem", Netem: &netem.Settings{Delay: w.delay, Limit: uint32(w.limit)}}
	}
	out, _ := json.Marshal(s)
	return platform.Result{Stdout: out}, nil
}

func (w *wire) tc(args []string) platform.Result {
	line := strings.Join(args, " ")
	fail := func(said string) platform.Result { return platform.Result{Exit: 2, Stderr: []byte(said)} }
	switch {
	case !strings.Contains(line, "dev eth0"):
		return fail("Cannot find device \"eth9\"\n")
	case line == "-j qdisc show dev eth0 root":
		var b bytes.Buffer
		switch {
		case w.root != "":
			b.WriteString(w.root)
		case w.limit > 0:
			fmt.Fprintf(&b, `[{"kind":"netem","handle":"8001:","root":true,"refcnt":2,"options":{"limit":%d,"delay":{"delay":%g,"jitter":0,"correlation":0},"ecn":false,"gap":0%s}}]`,
				w.limit, w.delay.Truncate(time.Microsecond).Seconds(), w.extra)
		case !w.silent:
			b.WriteString(`[{"kind":"noqueue","handle":"0:","root":true,"refcnt":2,"options":{}}]`)
		}
		return platform.Result{Stdout: append(b.Bytes(), '\n')}
	case line == "qdisc del dev eth0 root" && w.limit > 0:
		w.limit = 0
		return platform.Result{}
	case strings.HasPrefix(line, "qdisc replace dev eth0 root netem limit 100000 delay ") && w.lacks:
		return fail("Error: Specified qdisc kind is unknown.\n")
	case strings.HasPrefix(line, "qdisc replace dev eth0 root netem limit 100000 delay "):
		n, err := strconv.Atoi(strings.TrimSuffix(args[len(args)-1], "us"))
		if err != nil {
			return fail("Illegal \"delay\"\n")
		}
		// tc hands over ticks of 64 ns.
		w.delay, w.limit = time.Duration(n)*time.Microsecond/64*64, 100_000
		return platform.Result{}
	}
	return fail("Command line is not understood: " + line)
}

// carrier is a wire that can start plimsoll.
type carrier struct{ *wire }

func (carrier) Self(context.Context) (string, error) { return "/self", nil }

func TestLatency(t *testing.T) {
	f := Latency()
	for name, w := range map[string]*wire{"by tc": {}, "by a silent tc": {silent: true}, "by plimsoll": {noTC: true}, "by plimsoll beside tc": {}} {
		p := Env{Machine: w, Target: "eth0"}
		if strings.HasPrefix(name, "by plimsoll") {
			p.Machine = carrier{w}
		}
		before, err := f.Get(t.Context(), p)
		if err != nil || before != "none" {
			t.Fatalf("%s: before it is %q, %v", name, before, err)
		}
		for _, c := range [][2]string{{"10ms", "10ms"}, {"32us", "32µs"}, {"0s", "0s"}, {"999992us", "999.992ms"}, {"2.5s", "2.5s"}, {"none", "none"}, {"none", "none"}, {"1ms", "1ms"}} {
			level, err := f.Accept(t.Context(), p, c[0])
			if err != nil || level != c[1] {
				t.Errorf("%s: %s is accepted as %q, %v", name, c[0], level, err)
			}
			if err := f.Set(t.Context(), p, level); err != nil {
				t.Errorf("%s: %s: %v", name, level, err)
			}
			if got, err := f.Get(t.Context(), p); err != nil || got != level {
				t.Errorf("%s: %s reads back as %q, %v", name, level, got, err)
			}
		}
		if by := "/self"; slices.Contains(w.asked, by) != strings.HasPrefix(name, "by plimsoll") {
			t.Errorf("%s: these were asked: %v", name, w.asked)
		}
		if err := f.RestoreLevel(t.Context(), p, before); err != nil || w.limit != 0 {
			t.Errorf("%s: after it is put back %d packets may wait, %v", name, w.limit, err)
		}
	}
}

func TestLatencyRefuses(t *testing.T) {
	f := Latency()
	for _, level := range []string{"often", "11s", "1ns", "-1ms", "1.0001s"} {
		if _, err := f.Check(t.Context(), Env{}, level); err == nil || !strings.Contains(err.Error(), "neither none nor a time") {
			t.Errorf("%s: %v", level, err)
		}
	}
	const queue = `[{"kind":"htb","handle":"1:","root":true,"refcnt":2,"options":{"r2q":10,"default":"0"}},{"kind":"pfifo","handle":"2:","parent":"1:1","options":{"limit":1000}}]`
	for _, c := range []struct {
		machine platform.Machine
		target  string
		want    string
	}{
		{&wire{root: queue}, "eth0", "a queueing discipline htb of its own"},
		{&wire{limit: 1000, delay: 1e6}, "eth0", "that plimsoll did not set"},
		{&wire{limit: 100_000, delay: 1e6, extra: `,"loss-random":{"loss":0.001,"correlation":0}`}, "eth0", "that plimsoll did not set"},
		{&wire{root: "[{"}, "eth0", "read the output of tc"},
		{&wire{}, "eth9", "here has no network interface eth9"},
		{carrier{&wire{noTC: true}}, "eth9", "here has no network interface eth9"},
		{&wire{noTC: true}, "eth0", "apt install iproute2"},
		{&wire{}, "", "append a network interface"},
		{&wire{}, "-x/y", "is not a valid name"},
	} {
		if _, err := f.Offers(t.Context(), Env{Machine: c.machine, Target: c.target}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.target, err, c.want)
		}
		if err := f.Set(t.Context(), Env{Machine: c.machine, Target: c.target}, "1ms"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("set %q: %v, want %q", c.target, err, c.want)
		}
	}
	for _, m := range []platform.Machine{&wire{lacks: true}, carrier{&wire{lacks: true, noTC: true}}} {
		if err := f.Set(t.Context(), Env{Machine: m, Target: "eth0"}, "1ms"); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "modprobe sch_netem") {
			t.Errorf("a kernel without the emulator: %v", err)
		}
	}
}
