package vsphere_test

import (
	"bytes"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/live"
	"plimsoll/internal/live/livetest"
	"plimsoll/internal/vsphere"
	"plimsoll/internal/vsphere/session"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/vspheretest"
)

func connect(t testing.TB, at live.Address) live.Connection {
	t.Helper()
	c, err := vsphere.Kind().Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConformance(t *testing.T) {
	t.Parallel()
	vc := vspheretest.Start(t, 3, 2)
	livetest.Run(t, livetest.Subject{
		Open: func(t testing.TB) live.Connection { return connect(t, vc.Address(t)) },
		Limited: func(t testing.TB) live.Connection {
			at := vc.Address(t)
			at.User = "reader"
			return connect(t, at)
		},
	})
}

// simulated is the address of a simulator with the engine inside, which serves a cluster.
func simulated(t testing.TB, c *cluster.Cluster) live.Address {
	t.Helper()
	s, err := sim.Start(t.Context(), sim.Options{Clusters: []*cluster.Cluster{c}, Listen: "127.0.0.1:0", User: "operator", Password: "secret", Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	u, err := url.Parse(s.URL().String())
	if err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	return live.Address{Scheme: "vsphere", User: "operator", Host: u.Host, Parameters: map[string]string{
		"password": "file:" + password, "thumbprint": s.Thumbprints().SHA256,
	}}
}

func lab(hosts, vms int) *cluster.Cluster {
	s := generate.Typical(hosts, 7)
	s.VMs, s.Mixed = vms, true
	c, _ := generate.Cluster(s)
	return c
}

func TestConformanceOnOurSimulator(t *testing.T) {
	t.Parallel()
	c := lab(4, 20)
	c.VMs[3].Host = cluster.Nowhere
	at := simulated(t, c)
	livetest.Run(t, livetest.Subject{Open: func(t testing.TB) live.Connection { return connect(t, at) }, Off: c.VMs[3].Name})
}

// What the simulator makes of a cluster, the client reads as that cluster.
func TestAClusterComesBackAsItWas(t *testing.T) {
	t.Parallel()
	want := lab(8, 1100) // two pages
	c := connect(t, simulated(t, want))
	var got *cluster.Cluster
	enough := errors.New("enough")
	if err := c.Source.Watch(t.Context(), func(s live.Step) error { got = s.Cluster; return enough }); !errors.Is(err, enough) {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(text(t, read(want)), text(t, got)); d != "" {
		t.Errorf("want -, got +\n%.3000s", d)
	}
}

// read is what a client can know of a cluster: VMs by name, the present demand in whole MHz and
// MiB, and nothing of overheads of hosts.
func read(c *cluster.Cluster) *cluster.Cluster {
	out := *c
	out.Hosts, out.VMs, out.Pools = slices.Clone(c.Hosts), slices.Clone(c.VMs), slices.Clone(c.Pools)
	out.Pools[0].Name = "Resources"
	for i := range out.Hosts {
		out.Hosts[i].Overhead = cluster.Resources{}
	}
	for i := range out.VMs {
		v := &out.VMs[i]
		active := float64(int64(v.Demand.Active.Recent) >> 20 << 20)
		v.Demand = cluster.Demand{CPU: cluster.Steady(float64(int64(v.Demand.CPU.Recent))), Active: cluster.Steady(active), Consumed: v.Demand.Consumed >> 20 << 20}
		v.CoresPerSocket = max(1, v.CoresPerSocket)
	}
	order := make([]int, len(out.VMs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(c.VMs[a].Name, c.VMs[b].Name) })
	place, sorted := make([]cluster.VMID, len(order)), make([]cluster.VM, len(order))
	for to, from := range order {
		place[from], sorted[to] = cluster.VMID(to), out.VMs[from]
	}
	out.VMs, out.Rules = sorted, slices.Clone(c.Rules)
	for i := range out.Rules {
		r := &out.Rules[i]
		r.VMs = slices.Clone(r.VMs)
		for j := range r.VMs {
			r.VMs[j] = place[r.VMs[j]]
		}
		slices.Sort(r.VMs)
	}
	slices.SortStableFunc(out.Rules, func(a, b cluster.Rule) int { return strings.Compare(a.Name, b.Name) })
	return &out
}

func text(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	still := *c
	still.At = ""
	var b bytes.Buffer
	if err := snapshot.Write(&b, &still); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// VMs whose names look like identifiers are found by their names, by our client and by others.
func TestNamesThatLookLikeIdentifiers(t *testing.T) {
	t.Parallel()
	c := lab(4, 40)
	all, err := finder(t, simulated(t, c)).VirtualMachineList(t.Context(), "*")
	if err != nil || len(all) != len(c.VMs) {
		t.Fatalf("%d VMs, %v", len(all), err)
	}
	for v := range c.VMs { // those that others had there
		c.VMs[v].Name = all[(v+1)%len(all)].Reference().Value
	}
	at := simulated(t, c)
	conn := connect(t, at)
	defer conn.Close()
	where := func() map[string]string {
		var now *cluster.Cluster
		enough := errors.New("enough")
		if err := conn.Source.Watch(t.Context(), func(s live.Step) error { now = s.Cluster; return enough }); !errors.Is(err, enough) {
			t.Fatal(err)
		}
		on := map[string]string{}
		for _, v := range now.VMs {
			on[v.Name] = now.Hosts[v.Host].Name
		}
		return on
	}
	x := cluster.NewIndex(c)
	l := cluster.NewLayout(c, x)
	moved := 0
	for v := range c.VMs {
		for h := range c.Hosts {
			if cluster.HostID(h) == l.Host(cluster.VMID(v)) || len(l.Unit(cluster.VMID(v))) > 1 || l.Obstacle(cluster.VMID(v), cluster.HostID(h)).Check != cluster.Fine {
				continue
			}
			want := where()
			if err := conn.Hand.Move(t.Context(), c.VMs[v].Name, c.Hosts[h].Name); err != nil {
				t.Fatal(err)
			}
			want[c.VMs[v].Name] = c.Hosts[h].Name
			if d := cmp.Diff(want, where()); d != "" {
				t.Fatalf("after the move of %s: want -, got +\n%s", c.VMs[v].Name, d)
			}
			l.Move(cluster.VMID(v), cluster.HostID(h))
			moved++
			break
		}
		if moved == 5 {
			break
		}
	}
	if moved < 5 {
		t.Errorf("only %d VMs could move", moved)
	}
	others := finder(t, at)
	for v := range c.VMs {
		name := c.VMs[v].Name
		if vm, err := others.VirtualMachine(t.Context(), name); err != nil || vm.Name() != name {
			t.Errorf("govmomi finds %v for %s, %v", vm, name, err)
		}
	}
}

// finder is how govc finds objects by their names.
func finder(t *testing.T, at live.Address) *find.Finder {
	t.Helper()
	s, err := session.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return find.NewFinder(s.Client())
}
