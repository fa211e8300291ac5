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
	"plimsoll/internal/vsphere/sim/fault"
	"plimsoll/internal/vsphere/sim/task"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/operations"
	"plimsoll/internal/workload/operations/management"
	"plimsoll/internal/workload/operations/managementtest"
)

// start starts a simulator with four hosts and 20 VMs.
func start(t *testing.T, times task.Options) load.Endpoint {
	t.Helper()
	return startWith(t, sim.Options{Tasks: times})
}

func startWith(t *testing.T, o sim.Options) load.Endpoint {
	t.Helper()
	s := generate.Typical(4, 7)
	s.VMs, s.Mixed = 20, true
	c, _ := generate.Cluster(s)
	o.Clusters, o.Listen, o.User, o.Password, o.Folder = []*cluster.Cluster{c}, "127.0.0.1:0", "operator", "secret", t.TempDir()
	served, err := sim.Start(t.Context(), o)
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

func TestConformance(t *testing.T) {
	managementtest.Run(t, managementtest.Subject{
		Platform: connect(t, start(t, task.Options{})), Size: management.Size{CPUs: 1, Memory: 64 << 20, Disk: 1 << 20}, Times: true, Unknown: "vm-999999",
	})
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
		"mix":      {"vms": "12", "threads": "4", "run_list": "power-on 3, power-off 2, suspend 1, create 1, clone 1, delete 2, reconfigure 1, relocate 1, migrate 2, snapshot 1, revert 1, remove-snapshots 1, register 1", "ceiling": "300ms"},
		"workflow": {"variant": "workflow", "threads": "3", "ceiling": "300ms"},
	} {
		t.Run(name, func(t *testing.T) {
			at := start(t, task.Options{Times: task.Times{Mean: means}})
			env := workload.Env{Seed: 1, Log: t.Logf, Target: func(string) (load.Endpoint, error) { return at, nil }}
			l, err := operations.Kind(map[string]management.Opener{"vsphere": operation.Open}).New(settings)
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
				if checks++; c.State != measure.Pass && c.Name != "ceiling" { // which is the machine's affair
					t.Errorf("%+v", c)
				}
			}
			if checks == 0 {
				t.Error("nothing was checked")
			}
			if ran := out.Values()["run.mean"]; ran < modelled.Seconds() || ran > 20*modelled.Seconds() {
				t.Errorf("operations ran for %g s, modelled are %v", ran, modelled)
			}
			// Without modelled times operations are faster; how much is the machine's affair.
			if v := out.Values(); v["ceiling.operations"] <= 0 || v["ceiling.share"] <= 0 || v["ceiling.share"] >= 1 {
				t.Errorf("the load was %g of a ceiling of %g operations a second", v["ceiling.share"], v["ceiling.operations"])
			}
			if err := l.Clean(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			s, err := connect(t, at).Survey(t.Context(), "", "made by plimsoll, workload operations\nowner plimsoll")
			if err != nil || len(s.VMs) > 0 {
				t.Errorf("left are %+v, %v", s.VMs, err)
			}
		})
	}
}

// The files of a VM that was left unregistered are found and deleted, and those of no other.
func TestStrays(t *testing.T) {
	p := connect(t, start(t, task.Options{}))
	s := survey(t, p)
	var made []management.Outcome
	for i, name := range []string{"op-test-1", "op-test-2", "others"} {
		out, err := carryOut(t, p, management.Order{Kind: management.Create, Name: name, Host: s.Hosts[i], Mark: mark, Size: management.Size{CPUs: 1, Memory: 64 << 20, Disk: 1 << 20}})
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, out)
	}
	f := p.(management.Filing)
	if strays, err := f.Strays(t.Context(), "op-test-"); err != nil || len(strays) > 0 {
		t.Fatalf("of VMs in the inventory: %q, %v", strays, err)
	}
	for _, i := range []int{0, 2} {
		if err := operation.Unregister(t.Context(), p, made[i].VM); err != nil {
			t.Fatal(err)
		}
	}
	strays, err := f.Strays(t.Context(), "op-test-")
	if err != nil || len(strays) != 1 || !strings.HasSuffix(strays[0], "op-test-1/op-test-1.vmx") {
		t.Fatalf("%q, %v", strays, err)
	}
	if err := f.Erase(t.Context(), strings.ReplaceAll(strays[0], "op-test-1", "op-test-2")); err == nil {
		t.Error("the files of a VM in the inventory are deleted")
	}
	if err := f.Erase(t.Context(), strays[0]); err != nil {
		t.Fatal(err)
	}
	if strays, err := f.Strays(t.Context(), "op-test-"); err != nil || len(strays) > 0 {
		t.Errorf("afterwards: %q, %v", strays, err)
	}
	if strays, err := f.Strays(t.Context(), "others"); err != nil || len(strays) != 1 {
		t.Errorf("files of somebody else: %q, %v", strays, err)
	}
	if got := survey(t, p).VMs; len(got) != 1 || got[0].Name != "op-test-2" {
		t.Errorf("VMs: %+v", got)
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

// Faults that the vCenter injects are counted by their names, as many as it made; a session that expires
// and calls that fail on their way are survived; and what was created is removed.
func TestWorkloadCountsInjectedFaults(t *testing.T) {
	set, err := fault.New(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := startWith(t, sim.Options{Faults: set, Tasks: task.Options{Times: task.Times{Mean: map[string]time.Duration{"powerOn": 5 * time.Millisecond, "powerOff": 5 * time.Millisecond}}}})
	env := workload.Env{Seed: 1, Log: t.Logf, Target: func(string) (load.Endpoint, error) { return at, nil }}
	l, err := operations.Kind(map[string]management.Opener{"vsphere": operation.Open}).New(parameter.Settings{"vms": "12", "threads": "4", "run_list": "power-on 2, power-off 2, reconfigure 1", "ceiling": "0s"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	run := func(rules ...string) (made, told string) {
		if err := set.Add(rules, true); err != nil {
			t.Fatal(err)
		}
		out := measure.NewRecorder(nil)
		if err := l.Run(t.Context(), env, load.Stage{Length: 500 * time.Millisecond, Interval: 250 * time.Millisecond, Seed: 1}, out); err != nil {
			t.Fatal(err)
		}
		for _, c := range out.Checks() {
			if c.Name == "faults" {
				told = c.Detail
			}
		}
		return set.String(), told
	}
	made, told := run("powerOn=0.1:InsufficientResourcesFault", "reconfigVm=0.1:FileLocked")
	for rule, name := range map[string]string{"powerOn=0.1:InsufficientResourcesFault  ": "power-on: InsufficientResourcesFault", "reconfigVm=0.1:FileLocked  ": "reconfigure: FileLocked"} {
		_, counts, _ := strings.Cut(made, rule)
		if n, _, _ := strings.Cut(counts, " of "); n == "0" || n == "" || !strings.Contains(told, n+" x "+name) {
			t.Errorf("the vCenter made %q, the workload tells %q", made, told)
		}
	}
	if made, _ = run("session=expire@200ms", "WaitForUpdatesEx=0.05:lose"); !strings.Contains(made, "session=expire@200ms  1 times") || strings.Contains(made, "lose  0 of") {
		t.Errorf("not all faults were made: %q", made)
	}
	if err := set.Add(nil, true); err != nil {
		t.Fatal(err)
	}
	if err := l.Clean(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	s, err := connect(t, at).Survey(t.Context(), "", "made by plimsoll, workload operations, owner plimsoll")
	if err != nil || len(s.VMs) > 0 {
		t.Errorf("left are %+v, %v", s.VMs, err)
	}
}
