package sca

import (
	"cmp"
	"slices"

	"plimsoll/internal/cluster"
)

// Report is the assessment of the policies for a cluster's hosts and their VMs.
type Report struct {
	Cluster   string   `json:"cluster"`
	Measured  []Point  `json:"measured,omitempty"` // losses that correct the model
	Yield     int      `json:"yield"`              // work of a core with both threads busy, per mille of that with one
	Kinds     []Kind   `json:"kinds"`
	Published []Figure `json:"published"`
}

// Kind is hosts with equal CPUs, and the VMs on all of them.
type Kind struct {
	Hosts   []string `json:"hosts"`
	Sockets int      `json:"sockets"`
	Cores   int      `json:"cores"` // of a host
	Threads int      `json:"threads_per_core"`
	MHz     int64    `json:"mhz"`    // of a core
	Factor  int      `json:"factor"` // in the snapshot, per mille
	Mix     []Group  `json:"mix"`    // VMs on all of these hosts, small ones first
	Asked   int64    `json:"asked"`  // demand of VMs in MHz, mean per host
	Load    int      `json:"load"`   // the same, per mille of the default capacity
	// Policies has a row for each policy; none if Why has a reason.
	Policies []Estimate `json:"policies,omitempty"`
	Why      string     `json:"why,omitempty"`
}

// Estimate is a host's capacity under a policy.
type Estimate struct {
	Policy  Policy   `json:"policy"`
	Factor  int      `json:"factor"`         // per mille, of a host full of such VMs
	CPU     int64    `json:"cpu"`            // MHz of a host with that factor
	Lost    Loss     `json:"lost"`           // of present demand, beyond the loss under the default policy
	Busy    *Busy    `json:"busy,omitempty"` // of a single host
	Caveats []string `json:"caveats"`
}

// Busy is the work of one host's VMs with every vCPU busy.
type Busy struct {
	Work     int64 `json:"work"`     // per mille of a core with one thread busy
	Relative int   `json:"relative"` // the same, per mille of that under the default policy
	Idle     int   `json:"idle"`     // threads that no vCPU may use
}

// Look assesses each kind of host, or one given host, for the VMs that run there. A kind that
// cannot be assessed has the reason.
func Look(c *cluster.Cluster, only cluster.HostID, m Model) *Report {
	r := &Report{Cluster: c.Name, Measured: m.Measured, Yield: m.yield(), Kinds: []Kind{}, Published: published}
	x := cluster.NewIndex(c)
	l := cluster.NewLayout(c, x)
	for _, hosts := range kinds(c, only) {
		r.Kinds = append(r.Kinds, look(l, hosts, m))
	}
	return r
}

// kinds groups the hosts by the properties of their CPUs, in the order of the snapshot.
func kinds(c *cluster.Cluster, only cluster.HostID) [][]cluster.HostID {
	type shape struct {
		sockets, nodes, cores, threads, factor int
		mhz, overhead                          int64
	}
	var all [][]cluster.HostID
	at := map[shape]int{}
	for i := range c.Hosts {
		h := &c.Hosts[i]
		if only != cluster.Nowhere && only != cluster.HostID(i) {
			continue
		}
		s := shape{h.Sockets, h.NodesPerSocket, h.CoresPerNode, h.ThreadsPerCore, h.Factor, h.MHz, h.Overhead.CPU}
		k, known := at[s]
		if !known {
			k, at[s] = len(all), len(all)
			all = append(all, nil)
		}
		all[k] = append(all[k], cluster.HostID(i))
	}
	return all
}

func look(l *cluster.Layout, hosts []cluster.HostID, m Model) Kind {
	c := l.Cluster()
	h := &c.Hosts[hosts[0]]
	k := Kind{Sockets: h.Sockets, Cores: h.Cores(), Threads: h.ThreadsPerCore, MHz: h.MHz, Factor: h.Factor}
	asked := int64(0)
	for _, id := range hosts {
		k.Hosts = append(k.Hosts, c.Hosts[id].Name)
		asked += l.Demand(id).CPU
	}
	k.Mix, k.Asked = mixOf(l, hosts), asked/int64(len(hosts))
	if len(k.Mix) == 0 {
		k.Why = "no VM runs there, and the capacity under a policy depends on the VMs"
		return k
	}
	mix := k.Mix
	if len(hosts) > 1 {
		mix = proportions(mix)
	}
	rows, err := assess(h, mix, m)
	if err != nil {
		k.Why = err.Error()
		return k
	}
	k.Load = perMilleOf(k.Asked, rows[0].CPU)
	lost := lostOn(l, hosts, m)
	for i, row := range rows {
		o := Estimate{Policy: row.Policy, Factor: row.Factor, CPU: row.CPU, Lost: lost[i], Caveats: row.Caveats}
		if len(hosts) == 1 {
			o.Busy = &Busy{row.Work, row.Relative, row.Idle}
		}
		k.Policies = append(k.Policies, o)
	}
	return k
}

// mixOf counts the VMs of hosts by their size.
func mixOf(l *cluster.Layout, hosts []cluster.HostID) []Group {
	count := map[int]int{}
	for _, id := range hosts {
		for _, v := range l.On(id) {
			count[l.Cluster().VMs[v].VCPUs]++
		}
	}
	mix := []Group{}
	for vcpus, n := range count {
		mix = append(mix, Group{VCPUs: vcpus, Count: n})
	}
	slices.SortFunc(mix, func(a, b Group) int { return cmp.Compare(a.VCPUs, b.VCPUs) })
	return mix
}

// lostOn is the loss of present demand under each policy, host by host. A host with few vCPUs
// is never full: it loses no more than with all of them busy.
func lostOn(l *cluster.Layout, hosts []cluster.HostID, m Model) []Loss {
	n := len(policies)
	least, most, all := make([]int64, n), make([]int64, n), int64(0)
	lost := make([]Loss, n)
	for i := range lost {
		lost[i].Known = true
	}
	for _, id := range hosts {
		rows, err := assess(&l.Cluster().Hosts[id], mixOf(l, []cluster.HostID{id}), m)
		if err != nil {
			continue // nothing runs there
		}
		asked := l.Demand(id).CPU
		all += asked
		for i, row := range rows {
			one := row.Expected(perMilleOf(asked, rows[0].CPU))
			least[i], most[i] = least[i]+asked*int64(one.Least), most[i]+asked*int64(one.Most)
			lost[i].Known = lost[i].Known && one.Known
		}
	}
	for i := range lost {
		if all > 0 {
			lost[i].Least = int(least[i] / all)
		}
		if all > 0 && lost[i].Known {
			lost[i].Most = int(most[i] / all)
		}
	}
	return lost
}

func perMilleOf(part, whole int64) int {
	if whole <= 0 {
		return 0
	}
	return int(part * 1000 / whole)
}

// proportions is the smallest mix with the same proportions: the VMs of one host, if all have
// equal VMs.
func proportions(mix []Group) []Group {
	part := 0
	for _, g := range mix {
		for a, b := part, g.Count; ; a, b = b, a%b {
			if b == 0 {
				part = a
				break
			}
		}
	}
	out := slices.Clone(mix)
	for i := range out {
		out[i].Count /= max(1, part)
	}
	return out
}
