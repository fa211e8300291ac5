package picture

import (
	"bytes"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/doctor"
	"plimsoll/internal/cluster/doctor/pools"
)

// lab is four hosts with all features: a violated rule, two full hosts, reservations, pools
// and a host in maintenance.
func lab() *cluster.Cluster {
	c := clustertest.Random(clustertest.Spec{Seed: 3, Hosts: 4, VMs: 18, Pools: 3, Load: .5})
	c.Name = "lab"
	for h := range c.Hosts {
		c.Hosts[h].Name = "esx-" + string(rune('1'+h))
	}
	for v := range c.VMs {
		c.VMs[v].Host = []cluster.HostID{0, 0, 0, 1, 0, 2, 0}[v%7]
		c.VMs[v].Networks, c.VMs[v].Datastores = nil, nil
	}
	for h := range c.Hosts {
		c.Hosts[h].Networks = []int32{0, 1}
	}
	c.VMs[17].Host, c.VMs[17].Waiting = cluster.Nowhere, true
	c.VMs[0].Name, c.VMs[1].Name = "db-1", "db-2"
	c.Rules = []cluster.Rule{{Name: "db-apart", Kind: cluster.Apart, Must: true, VMs: []cluster.VMID{0, 1}}}
	return c
}

// skewed is a cluster whose VMs run on some of its hosts.
func skewed(seed uint64, hosts, vms int, load float64) *cluster.Cluster {
	c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: hosts, VMs: vms, Rules: hosts / 4, Pools: min(12, hosts/4), Load: load, Placed: true})
	c.Hosts[hosts/2].State = cluster.Maintenance
	return c
}

func input(c *cluster.Cluster) Input {
	return Input{Report: doctor.Look(c, advice.Options{})}
}

// many is a report of a large cluster with many moves, made without a round.
func many(hosts, moves int) Input {
	r := &doctor.Report{Cluster: "large", Quiet: "the hosts' loads lie 9.1 points, with a deviation"}
	c := clustertest.Random(clustertest.Spec{Seed: 9, Hosts: hosts, VMs: hosts * 4, Pools: 4, Load: .6})
	for h := range c.Hosts {
		load := .15 + .9*float64((h*7919)%hosts)/float64(hosts)
		n := 6 + h%9
		r.Hosts = append(r.Hosts, doctor.Host{
			Name: c.Hosts[h].Name, State: "connected", VMs: [2]int{n, n}, CPU: [2]float64{load, load},
			Memory: [2]float64{load * .8, load * .8}, Reserved: [2]float64{load / 3, load / 4}, ReservedAfter: [2]float64{load / 3, load / 4},
		})
	}
	for i := range moves {
		from, to := (i*31)%hosts, (i*97+5)%hosts
		if from == to {
			to = (to + 1) % hosts
		}
		r.Moves = append(r.Moves, doctor.Move{
			Step: i + 1, VM: c.VMs[i%len(c.VMs)].Name, From: r.Hosts[from].Name, To: r.Hosts[to].Name, Reason: "fairnessCpuAvg", Why: r.Hosts[from].Name + " is 92 % full",
			Evidence: "it asks for 9000 MHz and 4608 MiB", Effect: r.Hosts[from].Name + " 92 % -> 81 %, " + r.Hosts[to].Name + " 20 % -> 31 %", Value: "gain 479 GHz·s in 300 s, risk 0, cost 36 (copy of 8 s)",
			Alternatives: []doctor.Alternative{{Host: "host-1", Why: "it would then be 72 % (CPU) full"}, {Host: "host-2", Why: "the rule db-apart keeps it apart from db-2, which runs there"}, {Host: "host-3", Why: "it would then be 72 % (CPU) full"}},
		})
		f, t := &r.Hosts[from], &r.Hosts[to]
		f.CPU[1], t.CPU[1] = max(0, f.CPU[1]-.08), t.CPU[1]+.08
		f.VMs[1], t.VMs[1] = f.VMs[1]-1, t.VMs[1]+1
	}
	if r.Lost = [2]float64{.043, .002}; moves == 0 {
		r.Lost[1] = r.Lost[0]
	}
	r.Pools = pools.Show(c, false).Pools
	return Input{Report: r}
}

// emptied is a host of a full cluster that is emptied: many moves from one host.
func emptied() *cluster.Cluster {
	c := clustertest.Random(clustertest.Spec{Seed: 5, Hosts: 10, VMs: 90, Rules: 12, Pools: 2, Load: .6, Placed: true})
	c.Hosts[2].State, c.Hosts[6].State = cluster.Maintenance, cluster.Failed
	return c
}

// full is a cluster with a host that cannot be emptied.
func full() *cluster.Cluster {
	c := clustertest.Random(clustertest.Spec{Seed: 7, Hosts: 3, VMs: 12, Load: .9, Placed: true})
	for v := range c.VMs {
		c.VMs[v].CPU.Reservation, c.VMs[v].Mem.Reservation = 0, 110<<30
		c.VMs[v].Memory = 110 << 30
	}
	c.Hosts[0].State = cluster.Maintenance
	return c
}

func fixtures() map[string]func() Input {
	return map[string]func() Input{
		"lab":     func() Input { return input(lab()) },
		"emptied": func() Input { return input(emptied()) },
		"full":    func() Input { return input(full()) },
		"quiet": func() Input {
			return input(clustertest.Random(clustertest.Spec{Seed: 1, Hosts: 6, VMs: 30, Load: .2, Placed: true}))
		},
		"sixty-four": func() Input { return input(skewed(2, 64, 900, .8)) },
		"large":      func() Input { return many(2000, 500) },
		"still":      func() Input { return many(2000, 0) },
		"overloaded": func() Input {
			in := many(24, 30)
			in.Report.Hosts[0].CPU = [2]float64{2.4, 1.9}
			return in
		},
	}
}

func render(t *testing.T, in Input) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, in); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
