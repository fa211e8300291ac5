package sim_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/cli/esx"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/guest"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/sim"
	injected "plimsoll/internal/vsphere/sim/fault"
	"plimsoll/internal/vsphere/sim/front"
	"plimsoll/internal/vsphere/sim/task"
	"plimsoll/internal/vsphere/vspheretest"
)

// troubled serves a cluster with faults.
func troubled(t *testing.T, c *cluster.Cluster, rules ...string) (*sim.Server, *injected.Set, *govmomi.Client) {
	t.Helper()
	set, err := injected.New(1, rules)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.Start(t.Context(), sim.Options{Clusters: []*cluster.Cluster{c}, Listen: "127.0.0.1:0", User: "operator", Password: "secret", Folder: t.TempDir(), Faults: set})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, set, connect(t, s)
}

func TestInjectedFaultsReachClients(t *testing.T) {
	t.Parallel()
	_, set, c := troubled(t, simple(), "powerOff=1:InsufficientResourcesFault", "FindByUuid=1:NoPermission", "reset=1:hang")
	var vms []mo.VirtualMachine
	all(t, c, "VirtualMachine", []string{"runtime.powerState"}, &vms)
	vm := object.NewVirtualMachine(c.Client, vms[0].Self)
	task, err := vm.PowerOff(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(t.Context()); !fault.Is(err, &types.InsufficientResourcesFault{}) {
		t.Errorf("powering off gives %v", err)
	}
	if is, err := vm.PowerState(t.Context()); err != nil || is != types.VirtualMachinePowerStatePoweredOn {
		t.Errorf("a power-off that failed leaves the VM %s, %v", is, err)
	}
	if _, err := object.NewSearchIndex(c.Client).FindByUuid(t.Context(), nil, "x", true, nil); !fault.Is(err, &types.NoPermission{}) {
		t.Errorf("a search gives %v", err)
	}
	if task, err = vm.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := task.Wait(short); short.Err() == nil {
		t.Errorf("the task ends: %v", err)
	}
	if err := set.Add(nil, true); err != nil {
		t.Fatal(err)
	}
	other := object.NewVirtualMachine(c.Client, vms[1].Self)
	if task, err = other.PowerOff(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := task.Wait(t.Context()); err != nil {
		t.Errorf("without faults, powering off gives %v", err)
	}
}

func TestEventsHappen(t *testing.T) {
	t.Parallel()
	c := simple()
	s, set, client := troubled(t, c)
	looks := func() error {
		_, err := methods.GetCurrentTime(t.Context(), client.Client)
		return err
	}
	if err := set.Add([]string{"session=expire@0s"}, false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the session expires", func() bool { return fault.Is(looks(), &types.NotAuthenticated{}) })
	client = connect(t, s)
	if err := set.Add([]string{"vcenter=restart@0s+300ms"}, false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the vCenter is down", func() bool { err := looks(); return err != nil && !soap.IsSoapFault(err) })
	eventually(t, "the vCenter is back and has forgotten its sessions", func() bool { return fault.Is(looks(), &types.NotAuthenticated{}) })
	client = connect(t, s)
	state := func() types.HostSystemConnectionState {
		var hosts []mo.HostSystem
		all(t, client, "HostSystem", []string{"name", "runtime.connectionState"}, &hosts)
		for _, h := range hosts {
			if h.Name == c.Hosts[1].Name {
				return h.Runtime.ConnectionState
			}
		}
		t.Fatal("no such host")
		return ""
	}
	if err := set.Add([]string{"host:" + c.Hosts[1].Name + "=fail@0s+500ms"}, false); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the host fails", func() bool { return state() == types.HostSystemConnectionStateNotResponding })
	eventually(t, "the host is back", func() bool { return state() == types.HostSystemConnectionStateConnected })
}

// Objects of esxcli are met by searches of the inventory.
func TestSearchesMeetObjectsOfEsxcli(t *testing.T) {
	t.Parallel()
	_, _, c := troubled(t, simple())
	var hosts []mo.HostSystem
	all(t, c, "HostSystem", []string{"name"}, &hosts)
	e, err := esx.NewExecutor(t.Context(), c.Client, hosts[0].Self)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := e.Run(t.Context(), []string{"software", "vib", "list"}); err != nil || len(res.Values) == 0 {
		t.Errorf("esxcli gives %v, %v", res, err)
	}
	var vms []mo.VirtualMachine
	all(t, c, "VirtualMachine", []string{"config"}, &vms)
	var datacenters []mo.Datacenter
	all(t, c, "Datacenter", []string{"name"}, &datacenters)
	found, err := object.NewSearchIndex(c.Client).FindByUuid(t.Context(), nil, vms[0].Config.Uuid, true, nil)
	if err != nil || found == nil || found.Reference() != vms[0].Self {
		t.Errorf("the search by UUID gives %v, %v", found, err)
	}
	if found, err = object.NewSearchIndex(c.Client).FindByDatastorePath(t.Context(), object.NewDatacenter(c.Client, datacenters[0].Self), "[none] x.vmx"); err != nil || found != nil {
		t.Errorf("the search by path gives %v, %v", found, err)
	}
}

// Without a guest, operations in it are refused.
func TestGuestOperationsAreUnavailable(t *testing.T) {
	t.Parallel()
	_, _, c := troubled(t, simple())
	var vms []mo.VirtualMachine
	all(t, c, "VirtualMachine", []string{"name"}, &vms)
	m, err := guest.NewOperationsManager(c.Client, vms[0].Self).ProcessManager(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a panic would keep the manager locked
		_, err = m.StartProgram(t.Context(), &types.NamePasswordAuthentication{Username: "u", Password: "p"}, &types.GuestProgramSpec{ProgramPath: "/bin/ls"})
		if !fault.Is(err, &types.GuestOperationsUnavailable{}) {
			t.Errorf("starting a program gives %v", err)
		}
	}
}

// A panic becomes a fault that a client can show.
func TestAPanicIsAFault(t *testing.T) {
	t.Parallel()
	f := front.New(vspheretest.Start(t, 1, 0).Model.Service.Context, time.Minute, nil, new(task.Gate))
	defer f.Close()
	w := httptest.NewRecorder()
	f.Session(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("index out of range") })).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/sdk", nil))
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "<faultstring>the simulator has a bug: index out of range</faultstring>") {
		t.Errorf("the reply is %d %s", w.Code, w.Body)
	}
}
