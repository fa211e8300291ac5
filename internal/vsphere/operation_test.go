package vsphere_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/vsphere/compliance"
	"plimsoll/internal/vsphere/operation"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/sim/task"
	"plimsoll/internal/vsphere/vspheretest"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/compliance/subject"
	"plimsoll/internal/workload/operations"
	"plimsoll/internal/workload/operations/management"
	"plimsoll/internal/workload/operations/managementtest"
)

// startSimulated starts a simulator with four hosts and 20 VMs.
func startSimulated(t *testing.T, times task.Options) load.Endpoint {
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

func openOperations(t *testing.T, at load.Endpoint) management.Platform {
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

const madeMark = "made by a test"

func carryOut(t *testing.T, p management.Platform, o management.Order) (management.Outcome, error) {
	t.Helper()
	return carryOutWithin(t.Context(), p, o)
}

func carryOutWithin(ctx context.Context, p management.Platform, o management.Order) (management.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ticket, err := p.Issue(ctx, o)
	if err != nil {
		return management.Outcome{}, err
	}
	return p.Await(ctx, ticket)
}

func surveyed(t *testing.T, p management.Platform) management.Survey {
	t.Helper()
	s, err := p.Survey(t.Context(), "op-test-", madeMark)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOperationsConform(t *testing.T) {
	t.Parallel()
	managementtest.Run(t, managementtest.Subject{
		Platform: openOperations(t, startSimulated(t, task.Options{})), Size: management.Size{CPUs: 1, Memory: 64 << 20, Disk: 1 << 20}, Times: true, Unknown: "vm-999999",
	})
}

// What the vCenter refuses has the name of its fault.
func TestFaultsHaveNames(t *testing.T) {
	t.Parallel()
	p := openOperations(t, startSimulated(t, task.Options{}))
	s := surveyed(t, p)
	made, err := carryOut(t, p, management.Order{Kind: management.Create, Name: "op-test-1", Host: s.Hosts[0], Mark: madeMark, Size: management.Size{CPUs: 1, Memory: 64 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]management.Order{
		"InvalidPowerState":     {Kind: management.PowerOff, VM: made.VM},
		"ManagedObjectNotFound": {Kind: management.PowerOn, VM: "vm-999999"},
		"DuplicateName":         {Kind: management.Create, Name: "op-test-1", Host: s.Hosts[0], Mark: madeMark, Size: management.Size{CPUs: 1, Memory: 64 << 20}},
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
			t.Parallel()
			loadtest.Calm(t, func() error { return runModelled(t, settings, means, modelled) })
		})
	}
}

// runModelled runs a workload, and checks what does not depend on what else the machine does; the rest is an error.
func runModelled(t *testing.T, settings parameter.Settings, means map[string]time.Duration, modelled time.Duration) (disturbed error) {
	t.Helper()
	at := startSimulated(t, task.Options{Times: task.Times{Mean: means}})
	env := workload.Env{Seed: 1, Log: t.Logf, Target: func(string) (load.Endpoint, error) { return at, nil }}
	l, err := operations.Kind(map[string]management.Opener{"vsphere": operation.Open}).New(settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(nil)
	if err := l.Run(t.Context(), env, load.Stage{Length: 600 * time.Millisecond, Interval: 200 * time.Millisecond, Seed: 1}, out); err != nil {
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
	all := out.Intervals()
	if sum, err := measure.Summarise(all, measure.Window{End: all[len(all)-1].To.Seconds()}, "operations"); err != nil {
		disturbed = err
	} else if ran := sum.Values["run.mean"]; ran < modelled.Seconds() {
		t.Errorf("operations ran for %g s, modelled are %v", ran, modelled)
	} else if ran > 20*modelled.Seconds() {
		disturbed = fmt.Errorf("operations ran for %g s, modelled are %v", ran, modelled)
	}
	if v := out.Values(); v["ceiling.operations"] <= 0 || v["ceiling.share"] <= 0 {
		disturbed = errors.Join(disturbed, fmt.Errorf("the load was %g of a ceiling of %g operations a second", v["ceiling.share"], v["ceiling.operations"]))
	}
	if err := l.Clean(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	s, err := openOperations(t, at).Survey(t.Context(), "", "made by plimsoll, workload operations\nowner plimsoll")
	if err != nil || len(s.VMs) > 0 {
		t.Errorf("left are %+v, %v", s.VMs, err)
	}
	return disturbed
}

// A session can leave the modelled times out, for itself alone.
func TestModelledTimes(t *testing.T) {
	t.Parallel()
	const modelled = 250 * time.Millisecond
	at := startSimulated(t, task.Options{Times: task.Times{Mean: map[string]time.Duration{"powerOn": modelled, "powerOff": modelled}}})
	p, other := openOperations(t, at), openOperations(t, at)
	made, err := carryOut(t, p, management.Order{Kind: management.Create, Name: "op-test-1", Host: surveyed(t, p).Hosts[0], Mark: madeMark, Size: management.Size{CPUs: 1, Memory: 64 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		by   management.Platform
		skip bool
		long bool
	}{{p, false, true}, {p, true, false}, {other, false, true}, {p, false, true}} {
		if c.by == p {
			if is, err := p.(management.Modelled).Skip(t.Context(), c.skip); !is || err != nil {
				t.Fatal(is, err)
			}
		}
		out, err := carryOut(t, c.by, management.Order{Kind: []management.Kind{management.PowerOn, management.PowerOff}[i%2], VM: made.VM})
		if err != nil || (out.Ran >= modelled) != c.long {
			t.Errorf("operation %d took %v, modelled are %v, left out: %t; %v", i, out.Ran, modelled, c.skip, err)
		}
	}
	if is, err := openOperations(t, startStock(t, "operator")).(management.Modelled).Skip(t.Context(), true); is || err != nil {
		t.Errorf("a vCenter of others models times: %t, %v", is, err)
	}
}

// startStock is a vCenter that is none of ours.
func startStock(t *testing.T, user string) load.Endpoint {
	at := vspheretest.Start(t, 2, 1).Address(t)
	return load.Endpoint{Network: "tcp", Address: at.Host, User: user, Secret: at.Parameters["password"], Thumbprint: at.Parameters["thumbprint"]}
}

// The files of a VM that was left unregistered are found and deleted, and those of no other.
func TestStrays(t *testing.T) {
	t.Parallel()
	at := startSimulated(t, task.Options{})
	p := openOperations(t, at)
	s := surveyed(t, p)
	var made []management.Outcome
	for i, name := range []string{"op-test-1", "op-test-2", "others"} {
		out, err := carryOut(t, p, management.Order{Kind: management.Create, Name: name, Host: s.Hosts[i], Mark: madeMark, Size: management.Size{CPUs: 1, Memory: 64 << 20, Disk: 1 << 20}})
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, out)
	}
	f := p.(management.FileStore)
	if strays, err := f.Strays(t.Context(), "op-test-"); err != nil || len(strays) > 0 {
		t.Fatalf("of VMs in the inventory: %q, %v", strays, err)
	}
	for _, i := range []int{0, 2} {
		if err := unregister(t, at, made[i].VM); err != nil {
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
	if got := surveyed(t, p).VMs; len(got) != 1 || got[0].Name != "op-test-2" {
		t.Errorf("VMs: %+v", got)
	}
}

// Tasks that have ended leave the view that is watched, also while another goes on.
func TestEndedTasksAreNotWatched(t *testing.T) {
	t.Parallel()
	v := vspheretest.Start(t, 2, 1)
	at := v.Address(t)
	p := openOperations(t, load.Endpoint{Network: "tcp", Address: at.Host, User: at.User, Secret: at.Parameters["password"], Thumbprint: at.Parameters["thumbprint"]})
	hosts := surveyed(t, p).Hosts
	var made []management.VM
	for _, name := range []string{"op-test-a", "op-test-b"} {
		out, err := carryOut(t, p, management.Order{Kind: management.Create, Name: name, Host: hosts[0], Mark: madeMark, Size: management.Size{CPUs: 1, Memory: 64 << 20}})
		if err == nil {
			_, err = carryOut(t, p, management.Order{Kind: management.PowerOn, VM: out.VM, From: hosts[0]})
		}
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, management.VM{ID: out.VM})
	}
	v.Hold(true)
	ctx, stop := context.WithCancel(t.Context())
	held := make(chan error, 1)
	go func() {
		ticket, err := p.Issue(ctx, management.Order{Kind: management.Migrate, VM: made[0].ID, From: hosts[0], Host: hosts[1]})
		if err == nil {
			_, err = p.Await(ctx, ticket)
		}
		held <- err
	}()
	for i := range 30 {
		kind := []management.Kind{management.PowerOff, management.PowerOn}[i%2]
		if _, err := carryOut(t, p, management.Order{Kind: kind, VM: made[1].ID, From: hosts[0]}); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := <-held; !errors.Is(err, context.Canceled) {
		t.Errorf("the migration that never ends: %v", err)
	}
	if n := v.LargestView(); n > 5 {
		t.Errorf("%d tasks were in the view, of which 2 went on", n)
	}
}

// Privileges that an account lacks are told before anything is changed.
func TestMissingPrivileges(t *testing.T) {
	t.Parallel()
	at := startStock(t, "reader")
	env := workload.Env{Seed: 1, Log: t.Logf, Target: func(string) (load.Endpoint, error) { return at, nil }}
	l, err := operations.Kind(map[string]management.Opener{"vsphere": operation.Open}).New(parameter.Settings{"vms": "2", "run_list": "migrate 1"})
	if err != nil {
		t.Fatal(err)
	}
	_, early := l.Check(t.Context(), env)
	err = l.Prepare(t.Context(), env)
	if early == nil || early.Error() != err.Error() {
		t.Errorf("the plan says %v, the run %v", early, err)
	}
	for _, want := range []string{"Resource.HotMigrate on the datacenter's folder of VMs", "Datastore.AllocateSpace on datastore ", "Resource.AssignVMToPool on the resource pool"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "Snapshot") {
		t.Errorf("privileges that the load does not need are asked for: %v", err)
	}
	at.User = "operator"
	if missing, err := openOperations(t, at).(management.Privileged).Missing(t.Context(), management.Kinds()); err != nil || len(missing) > 0 {
		t.Errorf("the administrator lacks %q, %v", missing, err)
	}
}

// So are those that checks of compliance need.
func TestMissingPrivilegesOfChecks(t *testing.T) {
	t.Parallel()
	at := startStock(t, "reader")
	s, err := compliance.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // nothing was changed
	asked := s.(subject.Privileged)
	vms := []subject.VM{{ID: "vm-66"}}
	for changed, want := range map[bool]string{false: "StorageProfile.View on the vCenter", true: "StorageProfile.View on the vCenter; VirtualMachine.Config.Settings on " + vms[0].ID} {
		if missing, err := asked.Missing(t.Context(), vms, changed); err != nil || strings.Join(missing, "; ") != want {
			t.Errorf("changed %v: %q, %v; want %s", changed, missing, err, want)
		}
	}
	at.User = "operator"
	o, err := compliance.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close() //nolint:errcheck // nothing was changed
	if missing, err := o.(subject.Privileged).Missing(t.Context(), vms, true); err != nil || len(missing) > 0 {
		t.Errorf("the administrator lacks %q, %v", missing, err)
	}
}

// A certificate is verified by a file of its authority too.
func TestAuthority(t *testing.T) {
	t.Parallel()
	proxy := vspheretest.Start(t, 1, 1).Proxy(t)
	at := proxy.Address(t)
	e := load.Endpoint{Network: "tcp", Address: at.Host, User: "operator", Secret: at.Parameters["password"], Authority: proxy.Authority(t)}
	openOperations(t, e)
	e.Authority = ""
	if _, err := operation.Open(t.Context(), e); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without its authority: %v", err)
	}
	e.URL = "vsphere://operator@" + at.Host + "/?password=" + at.Parameters["password"] + "&thumbprint=" + at.Parameters["thumbprint"]
	openOperations(t, e)
}

// A wrong password and a wrong thumbprint are refused before anything is done.
func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	at := startSimulated(t, task.Options{})
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
