package livetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/live"
)

func maintenance(t *testing.T, s Subject) {
	c := open(t, s, s.Open)
	host, back := c.empty(s), func() {}
	if host == "" {
		host, back = c.clear(s)
	}
	defer back()
	for _, enter := range []bool{true, false} {
		if err := c.Hand.Maintain(c.ctx, host, enter); err != nil {
			t.Fatalf("maintenance of %s (enter: %t): %v", host, enter, err)
		}
		want := cluster.Connected
		if enter {
			want = cluster.Maintenance
		}
		now := c.look().Cluster
		for h := range now.Hosts {
			if now.Hosts[h].Name == host && now.Hosts[h].State != want {
				t.Errorf("%s is %s, want %s", host, now.Hosts[h].State, want)
			}
		}
	}
}

// clear moves the VMs off the host with the fewest, or off the one to maintain, and returns a
// function that moves them back.
func (t trial) clear(s Subject) (host string, back func()) {
	t.Helper()
	c := t.look().Cluster
	l := cluster.NewLayout(c, cluster.NewIndex(c))
	from := cluster.HostID(cluster.Nowhere)
	for h := range c.Hosts {
		named := c.Hosts[h].Name == s.Maintained
		if c.Hosts[h].Usable() && (named || s.Maintained == "" && (from < 0 || len(l.On(cluster.HostID(h))) < len(l.On(from)))) {
			from = cluster.HostID(h)
		}
	}
	if from < 0 {
		t.Fatalf("no host can be put into maintenance (wanted: %q)", s.Maintained)
	}
	var moved []string
	host = c.Hosts[from].Name
	for v := range c.VMs {
		if c.VMs[v].Host != from {
			continue
		}
		for h := range c.Hosts {
			if to := cluster.HostID(h); to != from && l.Obstacle(cluster.VMID(v), to).Check == cluster.Fine {
				if err := t.Hand.Move(t.ctx, c.VMs[v].Name, c.Hosts[h].Name); err != nil {
					t.Fatal(err)
				}
				l.Move(cluster.VMID(v), to)
				moved = append(moved, c.VMs[v].Name)
				break
			}
		}
	}
	return host, func() {
		for _, vm := range moved {
			if err := t.Hand.Move(t.ctx, vm, host); err != nil {
				t.Errorf("move %s back: %v", vm, err)
			}
		}
	}
}

func power(t *testing.T, s Subject) {
	if s.Off == "" {
		t.Skip("the cluster has no VM to start")
	}
	c := open(t, s, s.Open)
	if at := c.host(s.Off); at != "" {
		t.Fatalf("%s runs on %s", s.Off, at)
	}
	now := c.look().Cluster
	l := cluster.NewLayout(now, cluster.NewIndex(now))
	v := cluster.VMID(slices.IndexFunc(now.VMs, func(v cluster.VM) bool { return v.Name == s.Off }))
	on := ""
	for h := range now.Hosts { // the last host that can run it, as opposed to the one where it is registered
		if l.Obstacle(v, cluster.HostID(h)).Check == cluster.Fine {
			on = now.Hosts[h].Name
		}
	}
	if err := c.Hand.Power(c.ctx, s.Off, "no-such-host"); err == nil || c.host(s.Off) != "" {
		t.Errorf("started on an unknown host: %v", err)
	}
	for range 2 { // the second time it already runs there
		if err := c.Hand.Power(c.ctx, s.Off, on); err != nil || c.host(s.Off) != on {
			t.Fatalf("start %s on %s: %v; it is on %q", s.Off, on, err, c.host(s.Off))
		}
	}
	if s.Deaf {
		soon, cancel := context.WithTimeout(c.ctx, time.Second)
		defer cancel()
		if err := c.Hand.Power(soon, s.Off, ""); !errors.Is(err, context.DeadlineExceeded) || c.host(s.Off) != on {
			t.Errorf("a guest that does not shut down: %v; it is on %q", err, c.host(s.Off))
		}
		return
	}
	if err := c.Hand.Power(c.ctx, s.Off, ""); err != nil || c.host(s.Off) != "" {
		t.Errorf("shut down %s: %v; it is on %q", s.Off, err, c.host(s.Off))
	}
}

func privileges(t *testing.T, s Subject) {
	c := open(t, s, s.Open)
	asked := []live.Action{live.Move, live.Power, live.Maintain}
	if c.Policies != nil {
		asked = append(asked, live.Comply)
	}
	if c.Shaper != nil {
		asked = append(asked, live.Reshape)
	}
	for _, a := range append([]live.Action{live.Read}, asked...) {
		if missing, err := c.Hand.Missing(c.ctx, a); err != nil || len(missing) > 0 {
			t.Errorf("%s lacks %q (%v) with an account that may do everything", a, missing, err)
		}
	}
	if s.Limited == nil {
		return
	}
	c = open(t, s, s.Limited)
	if missing, err := c.Hand.Missing(c.ctx, live.Read); err != nil || len(missing) > 0 {
		t.Errorf("reading lacks %q (%v) with an account that may read", missing, err)
	}
	vm, to := pick(c, s)
	at := c.host(vm)
	for _, a := range asked {
		if missing, err := c.Hand.Missing(c.ctx, a); err != nil || len(missing) == 0 {
			t.Errorf("%s lacks nothing (%v) with an account that may only read", a, err)
		}
	}
	if err := c.Hand.Move(c.ctx, vm, to); err == nil || c.host(vm) != at {
		t.Errorf("a move without privileges gives %v, and the VM is on %s, from %s", err, c.host(vm), at)
	}
}
