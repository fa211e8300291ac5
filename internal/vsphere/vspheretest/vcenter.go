// Package vspheretest runs stock vCenter simulators for tests, with the migrations that they
// lack, and a proxy that can misbehave in front of them.
package vspheretest

import (
	"context"
	"crypto/tls"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	pbm "github.com/vmware/govmomi/pbm/simulator"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/vmware/govmomi/vim25/soap"

	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/sim/original"
)

// VCenter is a simulator that serves over TLS on the loopback interface. The account "reader"
// may only read.
type VCenter struct {
	Model  *simulator.Model
	server *simulator.Server

	mu   sync.Mutex
	held bool
	fail types.BaseMethodFault
	gone []types.ManagedObjectReference

	views   map[types.ManagedObjectReference]int // objects in list views
	largest int
}

// reader is the account that may only read, password that of every account.
const reader, password = "reader", "secret-of-the-test"

// Start serves an inventory of one datacenter with one cluster, of hosts with a number of VMs
// each, until the test ends.
func Start(t testing.TB, hosts, vmsPerHost int) *VCenter {
	t.Helper()
	return start(t, 1, hosts, vmsPerHost)
}

// StartClusters serves several clusters of one host and one VM each.
func StartClusters(t testing.TB, n int) *VCenter {
	t.Helper()
	return start(t, n, 1, 1)
}

func start(t testing.TB, clusters, hosts, vmsPerHost int) *VCenter {
	t.Helper()
	m := simulator.VPX()
	m.Host, m.Cluster, m.ClusterHost, m.Machine = 0, clusters, hosts, vmsPerHost*hosts
	v := &VCenter{Model: m, views: map[types.ManagedObjectReference]int{}}
	if err := original.Start(v.serve); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	// The simulator answers calls that wait for updates although their session has ended.
	t.Cleanup(func() { go v.server.Close() })
	return v
}

func (v *VCenter) serve() error {
	centers := v.Model.Datacenter
	v.Model.Datacenter = 0
	if err := v.Model.Create(); err != nil {
		return err
	}
	v.Model.Datacenter = centers
	v.Model.Map().Handler = settle
	if err := v.Model.CreateInfrastructure(v.Model.Service.Context); err != nil {
		return err
	}
	for _, o := range v.Model.Map().All("VirtualMachine") {
		vm := o.(*simulator.VirtualMachine)
		vm.Config.Hardware.Device = original.Own(vm.Config.Hardware.Device)
	}
	v.Model.Service.TLS = new(tls.Config)
	v.Model.Map().Handler = v.handle
	v.server = v.Model.Service.NewServer()
	v.Model.Service.RegisterSDK(pbm.New())
	return nil
}

// settle has a wait for a task begin when all tasks have ended: the simulator looks for ends every 20 ms only.
func settle(ctx *simulator.Context, m *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if r, is := m.Body.(*types.WaitForUpdatesEx); is && r.Version == "" {
		for _, o := range ctx.Map.AllReference("Task") {
			for ended := false; !ended; {
				task := o.(*simulator.Task)
				own := simulator.Context{Context: ctx.Context}
				ctx.Map.WithLock(&own, task, func() {
					ended = task.Info.State == types.TaskInfoStateSuccess || task.Info.State == types.TaskInfoStateError
				})
				if !ended {
					time.Sleep(100 * time.Microsecond)
				}
			}
		}
	}
	return nil, nil
}

// Address is the address of the only cluster.
func (v *VCenter) Address(t testing.TB) live.Address {
	return live.Address{Scheme: "vsphere", User: "operator", Host: v.server.URL.Host, Parameters: map[string]string{
		"password": secret(t), "thumbprint": soap.ThumbprintSHA256(v.server.Certificate()),
	}}
}

// Hold has migrations start and never end, or end again.
func (v *VCenter) Hold(hold bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.held = hold
}

// Fail has migrations fail half-way; nil has them succeed.
func (v *VCenter) Fail(f types.BaseMethodFault) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.fail = f
}

// LargestView is how many objects a list view of a client had at most.
func (v *VCenter) LargestView() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.largest
}

// Remove has an object vanish.
func (v *VCenter) Remove(ref types.ManagedObjectReference) {
	ctx := *v.Model.Service.Context
	ctx.Map.Remove(&ctx, ref)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.gone = append(v.gone, ref)
}

func (v *VCenter) mode() (held bool, fail types.BaseMethodFault) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.held, v.fail
}

// Do changes an object by hand, as another client would: it sets properties and tells
// collectors.
func (v *VCenter) Do(of types.ManagedObjectReference, changes ...types.PropertyChange) {
	ctx := *v.Model.Service.Context
	ctx.WithLock(v.Model.Map().Get(of), func() { ctx.Update(v.Model.Map().Get(of), changes) })
}

// Expire ends all sessions, as a restart of the vCenter does.
func (v *VCenter) Expire(t testing.TB) {
	t.Helper()
	ctx := context.Background()
	u := *v.server.URL
	u.User = url.UserPassword("administrator", password)
	c, err := govmomi.NewClient(ctx, &u, true)
	if err != nil {
		t.Fatal(err)
	}
	var manager mo.SessionManager
	if err := c.RetrieveOne(ctx, c.SessionManager.Reference(), []string{"sessionList"}, &manager); err != nil {
		t.Fatal(err)
	}
	own, err := c.SessionManager.UserSession(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range manager.SessionList {
		if s.Key != own.Key {
			if err := c.SessionManager.TerminateSession(ctx, []string{s.Key}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Logout(ctx); err != nil {
		t.Fatal(err)
	}
}

// secret is a reference to a password.
func secret(t testing.TB) string {
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "file:" + file
}

// PowerOff turns a VM off, as another client would.
func (v *VCenter) PowerOff(t testing.TB, vm types.ManagedObjectReference) {
	t.Helper()
	v.Do(vm, types.PropertyChange{Name: "runtime.powerState", Val: types.VirtualMachinePowerStatePoweredOff}, types.PropertyChange{Name: "summary.runtime.powerState", Val: types.VirtualMachinePowerStatePoweredOff})
}
