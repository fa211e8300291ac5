package sim_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

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

// read serves a cluster, and reads it through vSphere's interface.
func read(t *testing.T, c *cluster.Cluster) *cluster.Cluster {
	t.Helper()
	t.Setenv("SIM_PASSWORD", "secret")
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
