package sim_test

import (
	"context"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/vsphere/sim"
)

// lab is a cluster of some hosts and VMs.
func lab(hosts, vms int) *cluster.Cluster {
	s := generate.Typical(hosts, 7)
	s.VMs, s.Mixed = vms, true
	c, _ := generate.Cluster(s)
	return c
}

// serve starts a simulator, and connects to it.
func serve(t testing.TB, c ...*cluster.Cluster) (*sim.Server, *govmomi.Client) {
	t.Helper()
	s, err := sim.Start(context.Background(), sim.Options{Clusters: c, Listen: "127.0.0.1:0", User: "operator", Password: "secret", Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, connect(t, s)
}

func connect(t testing.TB, s *sim.Server) *govmomi.Client {
	t.Helper()
	u, err := url.Parse(s.URL().String())
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("operator", "secret")
	client, err := govmomi.NewClient(context.Background(), u, true)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// all reads the properties of all objects of a type.
func all(t testing.TB, c *govmomi.Client, kind string, paths []string, into any) {
	t.Helper()
	ctx := context.Background()
	v, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{kind}, true)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Destroy(ctx)
	if err := v.Retrieve(ctx, []string{kind}, paths, into); err != nil {
		t.Fatal(err)
	}
}

func TestInventoryIsThatOfTheCluster(t *testing.T) {
	t.Parallel()
	want := lab(6, 50)
	_, c := serve(t, want)
	var hosts []mo.HostSystem
	all(t, c, "HostSystem", []string{"name", "hardware", "vm", "summary.hardware"}, &hosts)
	if len(hosts) != len(want.Hosts) {
		t.Fatalf("%d hosts, want %d", len(hosts), len(want.Hosts))
	}
	on := map[string]int{}
	for i := range want.Hosts {
		w := &want.Hosts[i]
		at := slices.IndexFunc(hosts, func(h mo.HostSystem) bool { return h.Name == w.Name })
		if at < 0 {
			t.Fatalf("no host %s", w.Name)
		}
		h := hosts[at]
		if int(h.Hardware.CpuInfo.NumCpuCores) != w.Cores() || h.Hardware.MemorySize != w.Memory || len(h.Hardware.NumaInfo.NumaNode) != w.Nodes() || int64(h.Summary.Hardware.CpuMhz) != w.MHz {
			t.Errorf("host %s has %+v", w.Name, h.Summary.Hardware)
		}
		on[h.Self.Value] = i
	}
	var vms []mo.VirtualMachine
	all(t, c, "VirtualMachine", []string{"name", "runtime.host", "runtime.powerState", "config.hardware", "datastore", "network"}, &vms)
	if len(vms) != len(want.VMs) {
		t.Fatalf("%d VMs, want %d", len(vms), len(want.VMs))
	}
	for i := range want.VMs {
		w := &want.VMs[i]
		at := slices.IndexFunc(vms, func(v mo.VirtualMachine) bool { return v.Name == w.Name })
		if at < 0 {
			t.Fatalf("no VM %s", w.Name)
		}
		v := vms[at]
		if w.Host != cluster.Nowhere && on[v.Runtime.Host.Value] != int(w.Host) {
			t.Errorf("VM %s is on host %d, want %d", w.Name, on[v.Runtime.Host.Value], w.Host)
		}
		if int(v.Config.Hardware.NumCPU) != w.VCPUs || int64(v.Config.Hardware.MemoryMB)<<20 != w.Memory || len(v.Datastore) != len(w.Datastores) || len(v.Network) != len(w.Networks) {
			t.Errorf("VM %s has %+v, datastores %v, networks %v", w.Name, v.Config.Hardware.NumCPU, v.Datastore, v.Network)
		}
	}
}

func TestServerAcceptsOnlyItsUser(t *testing.T) {
	t.Parallel()
	s, _ := serve(t, lab(2, 2))
	u := s.URL()
	if u.Scheme != "https" || len(s.Thumbprints().SHA256) != 95 {
		t.Errorf("serves %s with thumbprints %+v", u, s.Thumbprints())
	}
	u.User = url.UserPassword("operator", "guess")
	if _, err := govmomi.NewClient(context.Background(), u, true); err == nil || !strings.Contains(err.Error(), "Login failure") {
		t.Errorf("a wrong password gives %v", err)
	}
}

func TestCloseLeavesNoFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s, err := sim.Start(context.Background(), sim.Options{Clusters: []*cluster.Cluster{lab(2, 4)}, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := sim.Start(context.Background(), sim.Options{Listen: "203.0.113.1:1"}); err == nil {
		t.Error("listens on an address of another machine")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("a failed start left %v", left)
	}
}
