package live_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/live"
	"plimsoll/internal/live/livetest"
)

func TestConformance(t *testing.T) {
	limited := livetest.New(clustertest.Sound())
	limited.Deny(live.Move, "Resource.HotMigrate on esx-1")
	limited.Deny(live.Power, "VirtualMachine.Interact.PowerOn on a-1")
	limited.Deny(live.Reshape, "VirtualMachine.Config.CPUCount on a-1")
	limited.Deny(live.Maintain, "Host.Config.Maintenance on esx-1")
	free := clustertest.Lopsided() // two hosts without VMs
	for name, c := range map[string]*cluster.Cluster{"all hosts used": clustertest.Sound(), "empty hosts": free} {
		t.Run(name, func(t *testing.T) {
			last := &c.VMs[len(c.VMs)-1]
			last.Host = cluster.Nowhere
			l := livetest.New(c)
			livetest.Run(t, livetest.Subject{
				Off:     last.Name,
				Open:    func(testing.TB) live.Connection { return l.Connection() },
				Limited: func(testing.TB) live.Connection { return limited.Connection() },
			})
		})
	}
}

var errEnough = errors.New("enough")

// kinds are the events of a watch up to the first of a kind.
func kinds(t *testing.T, l *livetest.Cluster, until live.EventKind, do func()) (list []live.EventKind, last live.Step) {
	t.Helper()
	begun := false
	err := l.Connection().Source.Watch(t.Context(), func(s live.Step) error {
		if !begun {
			begun = true
			do()
			return nil
		}
		last = s
		for _, e := range s.Events {
			list = append(list, e.Kind)
		}
		if slices.Contains(list, until) {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatal(err)
	}
	return list, last
}

func TestWhatOthersDo(t *testing.T) {
	l := livetest.New(clustertest.Sound())
	got, last := kinds(t, l, live.HostChanged, func() {
		if err := l.MoveBy("DRS", "a-1", "esx-2"); err != nil {
			t.Error(err)
		}
		l.Delete("a-2")
		l.Add(cluster.VM{Name: "a-1", Host: 0, VCPUs: 1, Memory: 1 << 30, Pool: 0, CPU: cluster.Allocation{Limit: cluster.Unlimited, Shares: 1}, Mem: cluster.Allocation{Limit: cluster.Unlimited, Shares: 1}})
		l.SetState("esx-3", cluster.Failed)
	})
	if want := []live.EventKind{live.VMMoved, live.VMRemoved, live.VMAdded, live.HostChanged}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	var names []string
	for _, v := range last.Cluster.VMs {
		names = append(names, v.Name)
	}
	if want := []string{"a-1 (vm-1)", "a-3", "b-1", "b-2", "b-3", "a-1 (vm-7)"}; !slices.Equal(names, want) {
		t.Errorf("VMs %q, want %q", names, want)
	}
	if err := l.MoveBy("DRS", "a-1", "esx-2"); err == nil {
		t.Error("an ambiguous name moves")
	}
}

func TestLossOfTheControlPlane(t *testing.T) {
	l := livetest.New(clustertest.Sound())
	got, last := kinds(t, l, live.ControlLost, l.Lose)
	if !slices.Equal(got, []live.EventKind{live.ControlLost}) || last.Cluster.VMs[0].Host != 0 {
		t.Errorf("events %v", got)
	}
	if err := l.MoveBy("DRS", "a-1", "esx-2"); err != nil {
		t.Fatal(err)
	}
	c := l.Connection()
	if err := c.Hand.Move(t.Context(), "a-2", "esx-1"); err == nil || l.Host("a-2") != "esx-2" {
		t.Errorf("a move without a control plane gives %v", err)
	}
	if err := c.Hand.Maintain(t.Context(), "esx-1", false); err == nil {
		t.Error("maintenance works without a control plane")
	}
	if _, err := c.Hand.Missing(t.Context(), live.Move); err == nil {
		t.Error("privileges are known without a control plane")
	}
	l.Return()
	if err := c.Hand.Move(t.Context(), "a-2", "esx-1"); err != nil {
		t.Error(err)
	}
}

func TestEventsDuringALoss(t *testing.T) {
	l := livetest.New(clustertest.Sound())
	got, last := kinds(t, l, live.VMMoved, func() {
		l.Lose()
		if err := l.MoveBy("DRS", "a-1", "esx-2"); err != nil {
			t.Error(err)
		}
		l.Return()
	})
	if want := []live.EventKind{live.ControlLost, live.ControlBack, live.VMMoved}; !slices.Equal(got, want) || last.Cluster.VMs[0].Host != 1 {
		t.Errorf("events %v, want %v; host %d", got, want, last.Cluster.VMs[0].Host)
	}
}

func TestMovesThatFail(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		hooks livetest.Hooks
		moved bool
	}{
		"before":   {livetest.Hooks{Before: func(context.Context, string, string) error { return boom }}, false},
		"half-way": {livetest.Hooks{After: func(string, string) error { return boom }}, true},
	} {
		l := livetest.New(clustertest.Sound())
		l.OnMove(c.hooks)
		if err := l.Connection().Hand.Move(t.Context(), "a-1", "esx-2"); !errors.Is(err, boom) || (l.Host("a-1") == "esx-2") != c.moved {
			t.Errorf("%s: %v, and the VM is on %s", name, err, l.Host("a-1"))
		}
		l.OnMove(livetest.Hooks{})
		if err := l.Connection().Hand.Move(t.Context(), "a-1", "esx-3"); err != nil {
			t.Errorf("%s: the next move: %v", name, err)
		}
	}
}

func TestANewWatchWaitsForTheControlPlane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := livetest.New(clustertest.Sound())
		l.Lose()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		steps := 0
		go func() {
			ended <- l.Connection().Source.Watch(ctx, func(live.Step) error { steps++; return nil })
		}()
		synctest.Wait()
		if steps != 0 {
			t.Error("a step without a control plane")
		}
		l.Return()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || steps != 1 {
			t.Errorf("%v after %d steps", err, steps)
		}
	})
}
