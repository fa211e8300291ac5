package tuner

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/hoststat/tenants"
	"plimsoll/internal/platform"
)

// card is a kernel with a network card, as ethtool sees it.
type card struct {
	*kernel
	adaptive bool
	wait     string // of received packets in microseconds
	refuses  bool   // the driver lets nothing be set
	absent   bool   // the driver has no coalescing
	asked    []string
}

func (c *card) Machine() platform.Machine { return c }

func (c *card) Run(_ context.Context, command platform.Command) (platform.Result, error) {
	argv := command.Argv
	if argv[0] != "ethtool" {
		return platform.Result{}, fmt.Errorf("%q is not expected", argv)
	}
	if c.absent {
		return platform.Result{Exit: 80, Stderr: []byte("netlink error: Operation not supported")}, nil
	}
	if argv[1] == "-C" {
		c.asked = append(c.asked, strings.Join(argv[3:], " "))
		if c.refuses {
			return platform.Result{Exit: 92, Stderr: []byte("netlink error: Invalid argument")}, nil
		}
		for i := 3; i+1 < len(argv); i += 2 {
			switch argv[i] {
			case "adaptive-rx":
				c.adaptive = argv[i+1] == "on"
			case "rx-usecs":
				c.wait = argv[i+1]
			}
		}
		return platform.Result{}, nil
	}
	word := map[bool]string{true: "on", false: "off"}[c.adaptive]
	return platform.Result{Stdout: fmt.Appendf(nil, "Coalesce parameters for eth0:\nAdaptive RX: %s  TX: n/a\nrx-usecs: %s\nrx-frames: n/a\n", word, c.wait)}, nil
}

func newCard(t *testing.T) (*bench, *card) {
	t.Helper()
	b := newBench(t)
	c := &card{kernel: b.kernel, adaptive: true, wait: "3"}
	b.inventory.Machine, b.inventory.Platform = c, c
	b.kernel.plug("eth0", "0", "0")
	b.links = []tenants.Link{{Name: "eth0", Physical: true, Up: true, Namespace: -1, NAPI: true}}
	return b, c
}

func TestACardDelaysItsInterrupts(t *testing.T) {
	b, c := newCard(t)
	out := b.On(t.Context())
	clean(t, out)
	if !slices.Equal(out.changes, []string{`host.interrupt_coalescing:eth0 set from "adaptive" to "200µs"`}) || c.adaptive || c.wait != "200" {
		t.Errorf("said %q; adaptive %v, %s us", out.changes, c.adaptive, c.wait)
	}
	b.mustBe(t, map[string]string{"eth0": "0 0"})
	clean(t, b.Off(t.Context()))
	if !c.adaptive || c.wait != "3" || b.Left() {
		t.Errorf("put back: adaptive %v, %s us, left %v", c.adaptive, c.wait, b.Left())
	}
}

func TestACardWithoutCoalescingIsPolled(t *testing.T) {
	for _, test := range []struct {
		name            string
		absent, refuses bool
	}{{"no coalescing", true, false}, {"the driver refuses", false, true}} {
		b, c := newCard(t)
		c.absent, c.refuses = test.absent, test.refuses
		out := b.On(t.Context())
		clean(t, out)
		b.mustBe(t, map[string]string{"eth0": batched})
		if len(out.changes) != 2 || !c.adaptive || c.wait != "3" {
			t.Errorf("%s: said %q; adaptive %v, %s us", test.name, out.changes, c.adaptive, c.wait)
		}
		tries := len(c.asked)
		clean(t, b.On(t.Context()))
		if len(c.asked) != tries {
			t.Errorf("%s: what was refused is tried again: %q", test.name, c.asked)
		}
		clean(t, b.Off(t.Context()))
		b.mustBe(t, map[string]string{"eth0": "0 0"})
	}
}
