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
	"plimsoll/internal/vsphere/vspheretest"
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
	t.Parallel()
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

// Whatever goes wrong in the middle of a load is counted and told, the load ends in time, and what was
// created is removed.
func TestWorkloadInTrouble(t *testing.T) {
	t.Parallel()
	set, err := fault.New(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	at := startWith(t, sim.Options{Faults: set, Tasks: task.Options{Times: task.Times{Mean: map[string]time.Duration{"powerOn": 5 * time.Millisecond, "migrate": 5 * time.Millisecond}}}})
	env := workload.Env{Seed: 1, Log: t.Logf, Target: func(string) (load.Endpoint, error) { return at, nil }}
	l, err := operations.Kind(map[string]management.Opener{"vsphere": operation.Open}).New(parameter.Settings{
		"vms": "12", "threads": "4", "timeout": "700ms", "run_list": "power-on 3, power-off 3, create 1, delete 1, migrate 2, register 1", "ceiling": "0s",
	})
	if err != nil {
		t.Fatal(err)
	}
	other := connect(t, at)
	for _, c := range []struct {
		name  string
		rules []string
		told  string
		also  func()
	}{
		{"the vCenter restarts", []string{"vcenter=restart@100ms+200ms"}, "", nil},
		{"tasks never end", []string{"powerOn=0.1:hang"}, "power-on: timeout", nil},
		{"a privilege is missing", []string{"MigrateVM_Task=0.3:NoPermission"}, "migrate: NoPermission", nil},
		{"replies are truncated", []string{"PowerOnVM_Task=0.1:truncate", "CreateVM_Task=0.2:truncate"}, "power-on: lost", nil},
		{"replies are slow", []string{"*=0.1:slow:50ms"}, "", nil},
		{"VMs are deleted by others", nil, "ManagedObjectNotFound", func() { deleteSome(t, other) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := set.Add(nil, true); err != nil {
				t.Fatal(err)
			}
			if err := l.Prepare(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			if err := set.Add(c.rules, true); err != nil {
				t.Fatal(err)
			}
			if c.also != nil {
				defer time.AfterFunc(100*time.Millisecond, c.also).Stop()
			}
			out := measure.NewRecorder(nil)
			if err := l.Run(t.Context(), env, load.Stage{Length: 400 * time.Millisecond, Interval: 200 * time.Millisecond, Seed: 1}, out); err != nil {
				t.Fatal(err)
			}
			told := ""
			for _, check := range out.Checks() {
				if check.Name == "faults" {
					told = check.Detail
				}
				if check.Name == "accounting" && check.State != measure.Pass {
					t.Errorf("%+v", check)
				}
			}
			if !strings.Contains(told, c.told) {
				t.Errorf("it tells %q, want %q; the vCenter made %q", told, c.told, set.String())
			}
			for _, rule := range c.rules {
				if strings.Contains(set.String(), rule+"  0 ") {
					t.Errorf("not all faults were made: %q", set.String())
				}
			}
			if err := set.Add(nil, true); err != nil {
				t.Fatal(err)
			}
			if err := l.Clean(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			if s, err := other.Survey(t.Context(), "plimsoll-op-", "made by plimsoll, workload operations"); err != nil || len(s.VMs) > 0 {
				t.Errorf("left are %+v, %v", s.VMs, err)
			}
		})
	}
}

// deleteSome deletes VMs of a load behind its back.
func deleteSome(t *testing.T, p management.Platform) {
	s, err := p.Survey(t.Context(), "plimsoll-op-", "made by plimsoll, workload operations")
	if err != nil {
		t.Error(err)
	}
	for _, v := range s.VMs {
		_, _ = carryOut(t, p, management.Order{Kind: management.PowerOff, VM: v.ID}) // off, or busy with what the load does
		_, _ = carryOut(t, p, management.Order{Kind: management.Delete, VM: v.ID})
	}
}

// Privileges that an account lacks are told before anything is changed.
func TestMissingPrivileges(t *testing.T) {
	stock := vspheretest.Start(t, 2, 1).Address(t)
	at := load.Endpoint{Network: "tcp", Address: stock.Host, User: "reader", Secret: stock.Parameters["password"], Thumbprint: stock.Parameters["thumbprint"]}
	env := workload.Env{Seed: 1, Log: t.Logf, Target: func(string) (load.Endpoint, error) { return at, nil }}
	l, err := operations.Kind(map[string]management.Opener{"vsphere": operation.Open}).New(parameter.Settings{"vms": "2", "run_list": "migrate 1"})
	if err != nil {
		t.Fatal(err)
	}
	err = l.Prepare(t.Context(), env)
	for _, want := range []string{"Resource.HotMigrate on the datacenter's folder of VMs", "Datastore.AllocateSpace on datastore ", "Resource.AssignVMToPool on the resource pool"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "Snapshot") {
		t.Errorf("privileges that the load does not need are asked for: %v", err)
	}
	at.User = "operator"
	if missing, err := connect(t, at).(management.Privileged).Missing(t.Context(), management.Kinds()); err != nil || len(missing) > 0 {
		t.Errorf("the administrator lacks %q, %v", missing, err)
	}
}

// A certificate is verified by a file of its authority too.
func TestAuthority(t *testing.T) {
	proxy := vspheretest.Start(t, 1, 1).Proxy(t)
	at := proxy.Address(t)
	e := load.Endpoint{Network: "tcp", Address: at.Host, User: "operator", Secret: at.Parameters["password"], Authority: proxy.Authority(t)}
	connect(t, e)
	e.Authority = ""
	if _, err := operation.Open(t.Context(), e); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without its authority: %v", err)
	}
	e.URL = "vsphere://operator@" + at.Host + "/?password=" + at.Parameters["password"] + "&thumbprint=" + at.Parameters["thumbprint"]
	connect(t, e)
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
	t.Parallel()
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
	if made, _ = run("session=expire@200ms", "WaitForUpdatesEx=0.02:lose"); !strings.Contains(made, "session=expire@200ms  1 times") || strings.Contains(made, "lose  0 of") {
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
