package factor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/platform"
)

// card is a machine with one network device, as ethtool sees it.
type card struct {
	platform.Machine
	usecs       string
	adaptive    string // on, off or n/a
	deaf        bool   // it takes every setting and keeps none
	unable      bool
	uninstalled bool
}

func (d *card) Name() string { return "here" }

func (d *card) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	refuse := platform.Result{Exit: 1, Stderr: []byte("netlink error: Operation not supported\n")}
	switch {
	case d.uninstalled:
		return platform.Result{}, errors.New("executable file not found in $PATH")
	case c.Argv[0] != "ethtool" || c.Argv[2] != "eth0" || d.unable:
		return refuse, nil
	case c.Argv[1] == "-c":
		return platform.Result{Stdout: fmt.Appendf(nil, "Coalesce parameters for eth0:\nAdaptive RX: %s  TX: n/a\nrx-usecs:\t%s\nrx-frames:\t1\n", d.adaptive, d.usecs)}, nil
	}
	args := c.Argv[3:]
	if i := slices.Index(args, "adaptive-rx"); i >= 0 {
		if d.adaptive == "n/a" {
			return refuse, nil
		}
		if !d.deaf {
			d.adaptive = args[i+1]
		}
	}
	if i := slices.Index(args, "rx-usecs"); i >= 0 && !d.deaf {
		d.usecs = args[i+1]
	}
	return platform.Result{}, nil
}

func TestInterruptCoalescing(t *testing.T) {
	for _, c := range []struct {
		name   string
		device card
		level  string
		want   string
	}{
		{"a fixed one", card{usecs: "3", adaptive: "off"}, "50us", "50µs"},
		{"none", card{usecs: "3", adaptive: "off"}, "0s", "0s"},
		{"from adaptive", card{usecs: "3", adaptive: "on"}, "1ms", "1ms"},
		{"to adaptive", card{usecs: "3", adaptive: "off"}, "adaptive", "adaptive"},
		{"without an adaptive mode", card{usecs: "0", adaptive: "n/a"}, "64us", "64µs"},
		{"one that keeps nothing", card{usecs: "7", adaptive: "off", deaf: true}, "64us", "7µs"},
	} {
		f, p := InterruptCoalescing(), Env{Machine: &c.device, Target: "eth0"}
		level, err := f.Check(t.Context(), p, c.level)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if err := f.Set(t.Context(), p, level); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if got, err := f.Get(t.Context(), p); err != nil || got != c.want {
			t.Errorf("%s: it reads back as %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestInterruptCoalescingRefuses(t *testing.T) {
	f := InterruptCoalescing()
	for level, want := range map[string]string{"often": "neither adaptive nor a time", "2s": "up to 1s", "1ns": "whole microseconds", "-1us": "neither"} {
		if _, err := f.Check(t.Context(), Env{Machine: &card{}, Target: "eth0"}, level); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", level, err)
		}
	}
	for _, c := range []struct {
		device card
		target string
		want   string
	}{
		{card{}, "lo", "lo or its driver does not support interrupt coalescing"},
		{card{unable: true}, "eth0", "eth0 or its driver does not support interrupt coalescing"},
		{card{usecs: "n/a", adaptive: "n/a"}, "eth0", "does not report its interrupt delay"},
		{card{uninstalled: true}, "eth0", "apt install ethtool"},
		{card{}, "../eth0", "is not a valid name"},
		{card{}, "", "append a network interface"},
	} {
		if _, err := f.Offers(t.Context(), Env{Machine: &c.device, Target: c.target}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.target, err, c.want)
		}
	}
	p := Env{Machine: &card{usecs: "0", adaptive: "n/a"}, Target: "eth0"}
	if err := f.Set(t.Context(), p, adaptive); err == nil {
		t.Error("a device without an adaptive mode takes it")
	}
}
