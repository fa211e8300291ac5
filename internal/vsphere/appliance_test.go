package vsphere_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/ovf"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/guest/disk"
	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/appliance"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/vspheretest"
)

// centers are a stock simulator and ours, each with two hosts and a network beside others.
var centers = map[string]func(t *testing.T) (live.Address, *simulator.Model){
	"stock": func(t *testing.T) (live.Address, *simulator.Model) {
		v := vspheretest.Start(t, 2, 1)
		return v.Address(t), v.Model
	},
	"ours": func(t *testing.T) (live.Address, *simulator.Model) {
		s := generate.Typical(2, 7)
		s.VMs, s.Datastores, s.Networks = 2, 1, 2
		c, _ := generate.Cluster(s)
		c.Networks[0] = network
		served, err := sim.Start(t.Context(), sim.Options{Clusters: []*cluster.Cluster{c}, Listen: "127.0.0.1:0", User: "operator", Password: "secret-of-the-test", Folder: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := served.Close(); err != nil {
				t.Error(err)
			}
		})
		password := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(password, []byte("secret-of-the-test\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return live.Address{Scheme: "vsphere", User: "operator", Host: served.URL().Host, Parameters: map[string]string{
			"password": "file:" + password, "thumbprint": served.Thumbprints().SHA256,
		}}, served.Model
	},
}

// order has the stock simulator first: the simulators of a process share a session of their own, and the first
// one's collector stays in it.
var order = []string{"stock", "ours"}

const (
	mark     = "made by a test"
	network  = "DC0_DVPG0"
	bootSize = 1 << 20
	dataSize = 3 << 20
)

// packed is an appliance with two disks.
func packed(t *testing.T) *disk.Appliance {
	t.Helper()
	boot, data := make([]byte, bootSize), make([]byte, dataSize)
	copy(boot, "what boots")
	copy(data[1<<20:], "what is written")
	a, err := disk.Pack(t.TempDir(), disk.Machine{Name: "worker", CPUs: 1, Memory: 256 << 20, Disks: []disk.Source{
		{ReaderAt: bytes.NewReader(boot), Size: bootSize}, {ReaderAt: bytes.NewReader(data), Size: dataSize},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// govmomi's own parser finds what vCenters look for.
func TestTheDescriptionIsRead(t *testing.T) {
	t.Parallel()
	e, err := ovf.Unmarshal(bytes.NewReader(packed(t).OVF))
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[uint16]int{}
	for _, i := range e.VirtualSystem.VirtualHardware[0].Item {
		kinds[uint16(*i.ResourceType)]++
	}
	if len(e.References) != 2 || len(e.Disk.Disks) != 2 || kinds[17] != 2 || kinds[6] != 2 || kinds[10] != 1 || kinds[15] != 1 {
		t.Errorf("%d files, %d disks, %v", len(e.References), len(e.Disk.Disks), kinds)
	}
}

func TestVMsAreDeployedAndShaped(t *testing.T) {
	t.Parallel()
	for _, name := range order {
		start := centers[name]
		t.Run(name, func(t *testing.T) {
			at, model := start(t)
			sent := vspheretest.KeepUploads(model)
			s := open(t, at)
			if missing, err := s.Missing(t.Context(), true); err != nil || len(missing) > 0 {
				t.Errorf("missing are %v, %v", missing, err)
			}
			a := packed(t)
			version := map[string]string{"ours": "vmx-20"}[name] // which the stock simulator leaves without virtual NUMA
			base, err := s.Import(t.Context(), "t-base", mark, version, a)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range a.Disks {
				want, err := os.ReadFile(f.Path)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(sent(), func(got []byte) bool { return bytes.Equal(got, want) }) {
					t.Errorf("%s was not sent", f.Name)
				}
			}
			v, err := base.Clone(t.Context(), "t-1", mark, "")
			if err != nil {
				t.Fatal(err)
			}
			shapes(t, v)
			if err := v.Stay(t.Context()); err != nil {
				t.Error(err)
			}
			if n := overrides(model); n != 1 {
				t.Errorf("%d VMs have DRS settings of their own", n)
			}
			if err := v.Insert(t.Context(), make([]byte, 4096)); err != nil {
				t.Fatal(err)
			}
			if err := v.Insert(t.Context(), make([]byte, 8192)); err != nil { // a second one replaces it
				t.Fatal(err)
			}
			if err := v.On(t.Context()); err != nil {
				t.Fatal(err)
			}
			if p, err := v.Placement(t.Context()); err != nil || p.Host == "" || p.Hardware != cmp.Or(version, "vmx-14") {
				t.Errorf("%+v, %v", p, err)
			}
			if err := v.Off(t.Context(), 0); err != nil {
				t.Error(err)
			}
			if err := v.On(t.Context()); err != nil {
				t.Error(err)
			}
			if removed, err := s.Sweep(t.Context(), "t-", "made by another"); err != nil || len(removed) > 0 {
				t.Errorf("removed are %v, %v", removed, err)
			}
			removed, err := s.Sweep(t.Context(), "t-", mark)
			slices.Sort(removed)
			if err != nil || !slices.Equal(removed, []string{"t-1", "t-base"}) {
				t.Errorf("removed are %v, %v", removed, err)
			}
			if err := v.Remove(t.Context()); err != nil {
				t.Errorf("a VM that is gone: %v", err)
			}
			if n := overrides(model); n != 0 {
				t.Errorf("%d DRS settings of VMs are left", n)
			}
		})
	}
}

// overrides counts the VMs with DRS settings of their own.
func overrides(model *simulator.Model) (n int) {
	for _, e := range model.Map().All("ClusterComputeResource") {
		c := e.(*simulator.ClusterComputeResource)
		ctx := *model.Service.Context
		ctx.WithLock(c, func() { n += len(c.ConfigurationEx.(*types.ClusterConfigInfoEx).DrsVmConfig) })
	}
	return n
}

func open(t *testing.T, at live.Address) *appliance.DeployTarget {
	t.Helper()
	s, err := appliance.Open(t.Context(), at, appliance.Where{Network: network})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// shapes gives a VM one shape after the other. Shape itself compares what is read back.
func shapes(t *testing.T, v *appliance.VM) {
	t.Helper()
	plain := appliance.Shape{CPUs: 1, Cores: 1, Nodes: 1, Memory: 256 << 20, Controller: "pvscsi", Card: "vmxnet3", Latency: "normal"}
	large := appliance.Shape{
		CPUs: 4, Cores: 2, Nodes: 2, Memory: 512 << 20, Controller: "nvme", Card: "e1000e", CPUReservation: 500, CPUShares: 3000, MemoryReservation: 512 << 20, Latency: "high",
	}
	sata := plain
	sata.Controller = "sata"
	for _, s := range []appliance.Shape{plain, large, plain, sata, large, plain} {
		if err := v.Shape(t.Context(), s, dataSize); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
		if has, err := v.Read(t.Context(), dataSize); err != nil || has != s {
			t.Errorf("%+v is read back as %+v, %v", s, has, err)
		}
	}
	if err := v.Shape(t.Context(), plain, dataSize+1); err == nil || !strings.Contains(err.Error(), "no disk") {
		t.Errorf("a disk that is not there: %v", err)
	}
}

// What goes wrong with an upload leaves no VM that is not found by its mark.
func TestUploadsFail(t *testing.T) {
	t.Parallel()
	at, model := centers["stock"](t)
	s := open(t, at)
	model.Service.ServeMux.HandleFunc("POST /nfc/", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "full", http.StatusInsufficientStorage) })
	if _, err := s.Import(t.Context(), "t-base", mark, "", packed(t)); err == nil || !strings.Contains(err.Error(), "507") {
		t.Errorf("a datastore that is full: %v", err)
	}
	// The simulator leaves the VM of an aborted lease, which vCenters remove.
	if removed, err := s.Sweep(t.Context(), "t-", mark); err != nil || !slices.Equal(removed, []string{"t-base"}) {
		t.Errorf("removed are %v, %v", removed, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	if _, err := s.Import(ctx, "t-base", mark, "", packed(t)); err == nil {
		t.Error("an import that was cancelled has succeeded")
	}
}

func TestPlacesThatAreNotThere(t *testing.T) {
	t.Parallel()
	at, model := centers["stock"](t)
	for want, w := range map[string]appliance.Where{
		"several networks":                 {},
		`no network "x"`:                   {Network: "x"},
		`no datastore "x"`:                 {Network: network, Datastore: "x"},
		`folder "x/y" does not exist`:      {Network: network, Folder: "x/y"},
		`resource pool "x" does not exist`: {Network: network, Pool: "x"},
	} {
		var mistake *live.Mistake
		if _, err := appliance.Open(t.Context(), at, w); !errors.As(err, &mistake) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v; want %q", w, err, want)
		}
	}
	var mistake *live.Mistake
	if s := open(t, at); s.Ready("") != nil || s.Ready("DC0_C0_H1") != nil || !errors.As(s.Ready("x"), &mistake) || !strings.Contains(s.Ready("x").Error(), "DC0_C0_H0, DC0_C0_H1") {
		t.Errorf("hosts: %v, %v, %v", s.Ready(""), s.Ready("DC0_C0_H1"), s.Ready("x"))
	}
	for _, o := range model.Map().All("HostSystem") {
		h := o.(*simulator.HostSystem)
		ctx := *model.Service.Context
		ctx.WithLock(h, func() { h.Runtime.ConnectionState = types.HostSystemConnectionStateNotResponding })
	}
	s := open(t, at)
	if err := s.Ready(""); err == nil || !strings.Contains(err.Error(), "no host") {
		t.Errorf("a cluster without hosts: %v", err)
	}
	if _, err := s.Sweep(t.Context(), "t-", mark); err != nil { // which needs none
		t.Error(err)
	}
}

// An account that may only read is told what it lacks.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	at, _ := centers["stock"](t)
	at.User = "reader"
	missing, err := open(t, at).Missing(t.Context(), true)
	if err != nil || !slices.Contains(missing, "VApp.Import on the resource pool") || !slices.Contains(missing, "Datastore.FileManagement on the datastore") ||
		!slices.Contains(missing, "Host.Inventory.EditCluster on the cluster") {
		t.Errorf("%v, %v", missing, err)
	}
}

// govc imports the appliance as one file, as a user would, into each simulator.
func TestRealGovcImportsIt(t *testing.T) {
	t.Parallel()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to build govc")
	}
	program := filepath.Join(t.TempDir(), "govc")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Dir = filepath.Join("sim", "testdata", "govc")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build govc: %v\n%s", err, out)
	}
	ova := filepath.Join(t.TempDir(), "worker.ova")
	f, err := os.Create(ova)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(packed(t).Write(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, name := range order {
		at, model := centers[name](t)
		sent := vspheretest.KeepUploads(model)
		env := append(os.Environ(), "GOVC_URL=https://"+at.Host+"/sdk", "GOVC_USERNAME=operator", "GOVC_PASSWORD=secret-of-the-test", "GOVC_INSECURE=1", "GOVMOMI_HOME="+t.TempDir())
		for _, c := range []struct{ args, want string }{
			{"import.ova -name imported -net " + network + " " + ova, ""}, {"vm.info imported", "256MB"}, {"device.ls -vm imported", "ParaVirtualSCSIController  pvscsi-203"},
			{"device.ls -vm imported", "VirtualCdrom"}, {"device.info -vm imported disk-*", "1,024 KB"},
		} {
			cmd := exec.CommandContext(t.Context(), program, strings.Fields(c.args)...)
			cmd.Env = env
			if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.want) {
				t.Errorf("%s: govc %s: %v, want %q in\n%s", name, c.args, err, c.want, out)
			}
		}
		if n := len(sent()); n != 2 {
			t.Errorf("%s: %d files were sent", name, n)
		}
	}
}

// Sessions that end in the middle are begun again, also between the upload and the CD.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	v := vspheretest.Start(t, 2, 1)
	s := open(t, v.Address(t))
	v.Expire(t)
	base, err := s.Import(t.Context(), "t-base", mark, "", packed(t))
	if err != nil {
		t.Fatal(err)
	}
	v.Expire(t)
	c, err := base.Clone(t.Context(), "t-1", mark, "")
	if err != nil {
		t.Fatal(err)
	}
	v.Expire(t)
	if err := c.Insert(t.Context(), make([]byte, 4096)); err != nil {
		t.Error(err)
	}
	v.Expire(t)
	if removed, err := s.Sweep(t.Context(), "t-", mark); err != nil || len(removed) != 2 {
		t.Errorf("removed are %v, %v", removed, err)
	}
}

// Datacenters, datastores and clusters may be in folders, and VMs go to a folder and a pool that are named.
func TestFoldersAndPools(t *testing.T) {
	m := simulator.VPX()
	m.Folder, m.Host, m.Machine, m.Pool = 1, 0, 0, 1
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	m.Service.TLS = new(tls.Config)
	served := m.Service.NewServer()
	t.Cleanup(func() { go served.Close() }) // it waits for calls of sessions that have ended
	t.Setenv("PLIMSOLL_TEST_PASSWORD", "secret")
	at := live.Address{Scheme: "vsphere", User: "operator", Host: served.URL.Host, Parameters: map[string]string{
		"password": "env:PLIMSOLL_TEST_PASSWORD", "thumbprint": soap.ThumbprintSHA256(served.Certificate()),
	}}
	s, err := appliance.Open(t.Context(), at, appliance.Where{Network: network, Folder: "F0", Pool: "DC0_C0_RP1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	base, err := s.Import(t.Context(), "t-base", mark, "", packed(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := base.Insert(t.Context(), []byte("what is on the CD")); err != nil {
		t.Fatal(err)
	}
	for _, e := range m.Map().All("VirtualMachine") {
		vm := e.(*simulator.VirtualMachine)
		parent, pool := m.Map().Get(*vm.Parent).(mo.Entity).Entity().Name, m.Map().Get(*vm.ResourcePool).(mo.Entity).Entity().Name
		if parent != "F0" || pool != "DC0_C0_RP1" {
			t.Errorf("%s is in folder %s and pool %s", vm.Name, parent, pool)
		}
	}
	store := m.Map().Any("Datastore").(*simulator.Datastore)
	if text, err := os.ReadFile(filepath.Join(store.Summary.Url, "t-base", "ticket.iso")); err != nil || string(text) != "what is on the CD" {
		t.Errorf("%q, %v", text, err)
	}
	if removed, err := s.Sweep(t.Context(), "t-", mark); err != nil || len(removed) != 1 {
		t.Errorf("removed are %v, %v", removed, err)
	}
}
