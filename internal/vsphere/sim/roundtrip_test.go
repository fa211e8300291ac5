package sim_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/effort"
	"plimsoll/internal/live"
	"plimsoll/internal/vsphere"
	"plimsoll/internal/vsphere/sim"
)

const mib = 1 << 20

// told is a cluster as far as vSphere can tell it, one fact a line, by names: the order of lists is lost,
// amounts are in MHz and MiB, and of demand there is the latest.
func told(c *cluster.Cluster) (lines []string) {
	names := func(all []string, some []int32) (list []string) {
		for _, i := range some {
			list = append(list, all[i])
		}
		slices.Sort(list)
		return list
	}
	promise := func(a cluster.Allocation, unit int64) string {
		if a.Limit != cluster.Unlimited {
			a.Limit /= unit
		}
		return fmt.Sprint(a.Reservation/unit, a.Limit, a.Shares, a.Expandable)
	}
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	s := c.Settings
	say("settings %d %d %v %v", s.Level, s.SpareHosts, s.Consumed, s.ScalablePool)
	for _, h := range c.Hosts {
		say("host %s %s %dx%dx%dx%d at %d, %d MiB, link %d, at most %d, %v, %v", h.Name, h.State, h.Sockets, h.NodesPerSocket, h.CoresPerNode, h.ThreadsPerCore, h.MHz,
			h.Memory/mib, h.NIC, h.MostVMs, names(c.Networks, h.Networks), names(c.Datastores, h.Datastores))
	}
	for _, p := range c.Pools[1:] {
		above := "root"
		if p.Parent > 0 {
			above = c.Pools[p.Parent].Name
		}
		say("pool %s in %s: %s, %s, %s, %v", p.Name, above, promise(p.CPU, 1), promise(p.Mem, mib), p.Level, p.Scalable)
	}
	for _, v := range c.VMs {
		host, pool := "none", "root"
		demand := ""
		if v.Host != cluster.Nowhere {
			host = c.Hosts[v.Host].Name
			demand = fmt.Sprint(int(v.Demand.CPU.Recent), int(v.Demand.Active.Recent)/mib, v.Demand.Consumed/mib)
		}
		if v.Pool > 0 {
			pool = c.Pools[v.Pool].Name
		}
		say("vm %s on %s in %s: %d of %d, %v, %d MiB, %s, %s, demand %s, %v, %v, %v", v.Name, host, pool, v.VCPUs, cmp.Or(v.CoresPerSocket, 1), v.HotAdd, v.Memory/mib,
			promise(v.CPU, 1), promise(v.Mem, mib), demand, names(c.Networks, v.Networks), names(c.Datastores, v.Datastores), v.Pinned)
	}
	for _, r := range c.Rules {
		var vms, hosts []string
		for _, v := range r.VMs {
			vms = append(vms, c.VMs[v].Name)
		}
		for _, h := range r.Hosts {
			hosts = append(hosts, c.Hosts[h].Name)
		}
		slices.Sort(vms)
		slices.Sort(hosts)
		say("rule %s %s %v %v: %v %v", r.Name, r.Kind, r.Must, r.Disabled, vms, hosts)
	}
	slices.Sort(lines)
	return lines
}

// What goes into the simulator comes out of vSphere's interface.
func TestAClusterComesOutAsItWentIn(t *testing.T) {
	t.Parallel()
	for seed := range uint64(effort.Of(8)) {
		spec := generate.Typical(3+int(seed), seed)
		spec.VMs, spec.Mixed, spec.Waiting = 20+int(seed)*9, seed%2 == 0, 2
		want, _ := generate.Cluster(spec)
		unusual(want, int(seed))
		got := read(t, want)
		a, b := told(want), told(got)
		for i := range max(len(a), len(b)) {
			if i >= len(a) || i >= len(b) || a[i] != b[i] {
				t.Errorf("seed %d: line %d of %d and %d:\nin  %s\nout %s", seed, i, len(a), len(b), at(a, i), at(b, i))
				break
			}
		}
	}
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return "nothing"
}

// unusual gives a cluster what generated ones lack.
func unusual(c *cluster.Cluster, seed int) {
	states := []cluster.HostState{cluster.Connected, cluster.Maintenance, cluster.Quarantined}
	c.Hosts[1].State = states[seed%len(states)]
	c.Hosts[2].NodesPerSocket, c.Hosts[2].CoresPerNode = 2, max(1, c.Hosts[2].CoresPerNode/2)
	c.Hosts[0].MostVMs = 500
	c.Settings.Level, c.Settings.Consumed, c.Settings.ScalablePool, c.Settings.SpareHosts = 1+seed%5, seed%2 == 1, seed%3 == 1, seed%2
	c.VMs[3].Pinned, c.VMs[4].HotAdd, c.VMs[4].CoresPerSocket = true, true, 1
	c.VMs[6].Name, c.VMs[7].Name, c.VMs[8].Name = "web 1/2", "../../outside", ".."
	c.VMs[5].CPU.Reservation, c.VMs[5].CPU.Limit = 500, 4000
	c.Rules = append(c.Rules, cluster.Rule{Name: "z-disabled", Kind: cluster.Apart, Disabled: true, VMs: []cluster.VMID{0, 1}},
		cluster.Rule{Name: "z-off", Kind: cluster.OffHosts, VMs: []cluster.VMID{2, 3}, Hosts: []cluster.HostID{0}})
}

// Names of all entities come out as they went in, whatever has to be escaped on the way.
func TestNamesComeOutAsTheyWentIn(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 1))
		spec := generate.Typical(3, seed)
		spec.VMs = 12
		want, _ := generate.Cluster(spec)
		odd := func(name *string) {
			parts := []string{"/", `\`, "%", "%2f", "%2F", "%5c", "%25", "%41", "ä", " ", "&<"}
			for range 1 + r.IntN(3) {
				at := 1 + r.IntN(len(*name))
				for !utf8.ValidString((*name)[:at]) {
					at--
				}
				*name = (*name)[:at] + parts[r.IntN(len(parts))] + (*name)[at:]
			}
			*name += "."
		}
		for i := range want.Hosts {
			odd(&want.Hosts[i].Name)
		}
		for i := range want.VMs {
			odd(&want.VMs[i].Name)
		}
		for i := range want.Pools[1:] {
			odd(&want.Pools[1+i].Name)
		}
		for _, list := range [][]string{want.Networks, want.Datastores} {
			for i := range list {
				odd(&list[i])
			}
		}
		odd(&want.Name)
		got := read(t, want)
		a, b := told(want), told(got)
		for i := range max(len(a), len(b)) {
			if i >= len(a) || i >= len(b) || a[i] != b[i] {
				t.Errorf("seed %d: line %d of %d and %d:\nin  %s\nout %s", seed, i, len(a), len(b), at(a, i), at(b, i))
				break
			}
		}
		if got.Name != want.Name {
			t.Errorf("seed %d: the cluster is %q, want %q", seed, got.Name, want.Name)
		}
	}
}

// sure is what was made.
func sure[T any](is T, err error) T {
	if err != nil {
		panic(err) // ends the test
	}
	return is
}

// A name that a client gives is stored escaped; one that is escaped stays.
func TestTheSimulatorEscapesNames(t *testing.T) {
	t.Parallel()
	b := newBed(t, 2, 3)
	folders := sure(sure(find.NewFinder(b.Client.Client).DefaultDatacenter(b.ctx)).Folders(b.ctx))
	name, _ := b.some()
	vm := b.vm(name)
	pool := object.NewResourcePool(b.Client.Client, *b.see(vm).ResourcePool)
	for given, stored := range map[string]string{"a/b": "a%2fb", "c%2Fd": "c%2fd", `e\f%5c`: "e%5cf%5c", "100%": "100%25", "g%25": "g%25"} {
		made := map[string]types.ManagedObjectReference{}
		made["folder"] = sure(folders.VmFolder.CreateFolder(b.ctx, given)).Reference()
		made["pool"] = sure(pool.Create(b.ctx, given, types.DefaultResourceConfigSpec())).Reference()
		made["datacenter"] = sure(object.NewRootFolder(b.Client.Client).CreateDatacenter(b.ctx, given)).Reference()
		made["cluster"] = sure(folders.HostFolder.CreateCluster(b.ctx, given, types.ClusterConfigSpecEx{})).Reference()
		made["clone"] = b.done(vm.Clone(b.ctx, folders.VmFolder, "clone "+given, types.VirtualMachineCloneSpec{})).Result.(types.ManagedObjectReference)
		b.done(object.NewCommon(b.Client.Client, made["folder"]).Rename(b.ctx, "renamed "+given))
		b.done(object.NewVirtualMachine(b.Client.Client, made["clone"]).Reconfigure(b.ctx, types.VirtualMachineConfigSpec{Name: "again " + given}))
		for kind, ref := range made {
			want := stored
			switch kind {
			case "folder":
				want = "renamed " + stored
			case "clone":
				want = "again " + stored
			}
			var e mo.ManagedEntity
			if err := property.DefaultCollector(b.Client.Client).RetrieveOne(b.ctx, ref, []string{"name"}, &e); err != nil || e.Name != want {
				t.Errorf("%s %q is stored as %q, want %q: %v", kind, given, e.Name, want, err)
			}
		}
	}
}

// read serves a cluster, and reads it through vSphere's interface.
func read(t *testing.T, c *cluster.Cluster) *cluster.Cluster {
	t.Helper()
	s, err := sim.Start(t.Context(), sim.Options{Clusters: []*cluster.Cluster{c}, Listen: "127.0.0.1:0", User: "operator", Password: "secret", Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	address, err := live.ParseAddress("vsphere://operator@" + s.URL().Host + "/?password=env:SIM_PASSWORD&thumbprint=" + s.Thumbprints().SHA256)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := vsphere.Kind().Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	var first live.Step
	err = connection.Source.Watch(context.Background(), func(s live.Step) error {
		first = s
		return enough
	})
	if !errors.Is(err, enough) {
		t.Fatal(err)
	}
	if err := connection.Close(); err != nil {
		t.Error(err)
	}
	return first.Cluster
}
