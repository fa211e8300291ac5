package operation_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/vsphere/operation"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/sim/task"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/operations"
	"plimsoll/internal/workload/operations/management"
)

// start starts a simulator with four hosts and 20 VMs.
func start(t *testing.T, times task.Options) load.Endpoint {
	t.Helper()
	s := generate.Typical(4, 7)
	s.VMs, s.Mixed = 20, true
	c, _ := generate.Cluster(s)
	served, err := sim.Start(t.Context(), sim.Options{Clusters: []*cluster.Cluster{c}, Listen: "127.0.0.1:0", User: "operator", Password: "secret", Folder: t.TempDir(), Tasks: times})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := served.Close(); err != nil {
			t.Error(err)
		}
	})
	at, err := url.Parse(served.URL().String())
	if err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return load.Endpoint{Network: "tcp", Address: at.Host, User: "operator", Secret: "file:" + password, Thumbprint: served.Thumbprints().SHA256}
}

func connect(t *testing.T, at load.Endpoint) management.Platform {
	t.Helper()
	p, err := operation.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

const mark = "made by a test"

func carryOut(t *testing.T, p management.Platform, o management.Order) (management.Outcome, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ticket, err := p.Issue(ctx, o)
	if err != nil {
		return management.Outcome{}, err
	}
	return p.Await(ctx, ticket)
}

func survey(t *testing.T, p management.Platform) management.Survey {
	t.Helper()
	s, err := p.Survey(t.Context(), "op-test-", mark)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each operation does what it says, and the platform shows it.
func TestEachOperation(t *testing.T) {
	p := connect(t, start(t, task.Options{}))
	s := survey(t, p)
	if len(s.Hosts) != 4 || len(s.VMs) != 0 {
		t.Fatalf("%+v", s)
	}
	made, err := carryOut(t, p, management.Order{Kind: management.Create, Name: "op-test-1", Host: s.Hosts[0], Mark: mark, Size: management.Size{CPUs: 1, Memory: 64 << 20, Disk: 1 << 20}})
	if err != nil || made.VM == "" {
		t.Fatal(made, err)
	}
	want := management.VM{ID: made.VM, Name: "op-test-1", Host: s.Hosts[0], Power: management.Off}
	for _, step := range []struct {
		order  management.Order
		change func()
	}{
		{management.Order{Kind: management.Reconfigure, Shares: 1234}, func() { want.Shares = 1234 }},
		{management.Order{Kind: management.Snapshot}, func() { want.Snapshots = 1 }},
		{management.Order{Kind: management.Snapshot}, func() { want.Snapshots = 2 }},
		{management.Order{Kind: management.Revert}, func() {}},
		{management.Order{Kind: management.RemoveSnapshots}, func() { want.Snapshots = 0 }},
		{management.Order{Kind: management.Relocate, Host: s.Hosts[1]}, func() { want.Host = s.Hosts[1] }},
		{management.Order{Kind: management.PowerOn}, func() { want.Power = management.On }},
		{management.Order{Kind: management.Migrate, Host: s.Hosts[2]}, func() { want.Host = s.Hosts[2] }},
		{management.Order{Kind: management.Reconfigure, Shares: 4321}, func() { want.Shares = 4321 }},
		{management.Order{Kind: management.Suspend}, func() { want.Power = management.Suspended }},
		{management.Order{Kind: management.PowerOn}, func() { want.Power = management.On }},
		{management.Order{Kind: management.PowerOff}, func() { want.Power = management.Off }},
	} {
		step.order.VM = made.VM
		out, err := carryOut(t, p, step.order)
		if err != nil {
			t.Fatalf("%s: %v", step.order.Kind, err)
		}
		if out.Queued < 0 || out.Ran < 0 {
			t.Errorf("%s: the vCenter tells no times: %+v", step.order.Kind, out)
		}
		step.change()
		got := survey(t, p).VMs
		if len(got) != 1 || got[0].Shares != want.Shares && want.Shares != 0 {
			t.Fatalf("after %s: %+v", step.order.Kind, got)
		}
		if got[0].Shares = want.Shares; got[0] != want {
			t.Errorf("after %s: %+v, want %+v", step.order.Kind, got[0], want)
		}
	}
	copied, err := carryOut(t, p, management.Order{Kind: management.Clone, VM: made.VM, Name: "op-test-2", Host: s.Hosts[3], Mark: mark})
	if err != nil || copied.VM == made.VM {
		t.Fatal(copied, err)
	}
	if got := survey(t, p).VMs; len(got) != 2 || got[1].ID != copied.VM || got[1].Host != s.Hosts[3] || got[1].Power != management.Off {
		t.Errorf("after clone: %+v", got)
	}
	for _, vm := range []string{made.VM, copied.VM} {
		if _, err := carryOut(t, p, management.Order{Kind: management.Delete, VM: vm}); err != nil {
			t.Error(err)
		}
	}
	if got := survey(t, p).VMs; len(got) != 0 {
		t.Errorf("after delete: %+v", got)
	}
}

// What the vCenter refuses has the name of its fault.
func TestFaultsHaveNames(t *testing.T) {
	p := connect(t, start(t, task.Options{}))
	s := survey(t, p)
	made, err := carryOut(t, p, management.Order{Kind: management.Create, Name: "op-test-1", Host: s.Hosts[0], Mark: mark, Size: management.Size{CPUs: 1, Memory: 64 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]management.Order{
		"InvalidPowerState":     {Kind: management.PowerOff, VM: made.VM},
		"ManagedObjectNotFound": {Kind: management.PowerOn, VM: "vm-999999"},
		"DuplicateName":         {Kind: management.Create, Name: "op-test-1", Host: s.Hosts[0], Mark: mark, Size: management.Size{CPUs: 1, Memory: 64 << 20}},
	} {
		_, err := carryOut(t, p, o)
		var fault *management.Fault
		if !errors.As(err, &fault) || fault.Name != want {
			t.Errorf("%s gives %v, want the fault %s", o.Kind, err, want)
		}
	}
	if _, err := p.Issue(t.Context(), management.Order{Kind: "fly"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an unknown operation gives %v", err)
	}
}

// The whole workload runs against the simulator, leaves the VMs as it says, and removes them. The
// run time is that which the simulator models, the queue time that of a host which is busy.
func TestWorkload(t *testing.T) {
	const modelled = 20 * time.Millisecond
	means := map[string]time.Duration{}
	for _, name := range task.Names() {
		means[name] = modelled
	}
	for name, settings := range map[string]parameter.Settings{
		"mix":      {"vms": "12", "threads": "4", "run_list": "power-on 3, power-off 2, suspend 1, create 1, clone 1, delete 2, reconfigure 1, relocate 1, migrate 2, snapshot 1, revert 1, remove-snapshots 1"},
		"workflow": {"variant": "workflow", "threads": "3"},
	} {
		t.Run(name, func(t *testing.T) {
			at := start(t, task.Options{Times: task.Times{Mean: means}})
			env := workload.Env{Seed: 1, Log: t.Logf, Target: func(string) (load.Endpoint, error) { return at, nil }}
			l, err := operations.Kind(operation.Open).New(settings)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			out := measure.NewRecorder(nil)
			if err := l.Run(t.Context(), env, load.Stage{Length: time.Second, Interval: 250 * time.Millisecond, Seed: 1}, out); err != nil {
				t.Fatal(err)
			}
			checks := 0
			for _, c := range out.Checks() {
				if checks++; c.State != measure.Pass {
					t.Errorf("%+v", c)
				}
			}
			if checks == 0 {
				t.Error("nothing was checked")
			}
			if ran := out.Values()["run.mean"]; ran < modelled.Seconds() || ran > 20*modelled.Seconds() {
				t.Errorf("operations ran for %g s, modelled are %v", ran, modelled)
			}
			if err := l.Clean(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			s, err := connect(t, at).Survey(t.Context(), "", "made by plimsoll, workload operations, owner plimsoll")
			if err != nil || len(s.VMs) > 0 {
				t.Errorf("left are %+v, %v", s.VMs, err)
			}
		})
	}
}

// A wrong password and a wrong thumbprint are refused before anything is done.
func TestRefusedConnections(t *testing.T) {
	at := start(t, task.Options{})
	wrong := at
	wrong.Thumbprint = strings.Repeat("00:", 31) + "00"
	if _, err := operation.Open(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "thumbprint") {
		t.Errorf("a wrong thumbprint gives %v", err)
	}
	wrong = at
	wrong.User = "somebody"
	if _, err := operation.Open(t.Context(), wrong); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a wrong user gives %v", err)
	}
	wrong = at
	wrong.Database = "DC0/nowhere"
	if _, err := operation.Open(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a wrong cluster gives %v", err)
	}
}
