package place

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
)

// purse is a single pool of memory.
type purse struct {
	c     *cluster.Cluster
	left  int64
	taken map[cluster.VMID]bool
}

func (p *purse) Admits(v cluster.VMID) (bool, string) {
	need := p.c.VMs[v].Reserved().Memory
	return need <= p.left, fmt.Sprintf("the purse has %d left, and %d are needed", p.left, need)
}

func (p *purse) Take(v cluster.VMID) { p.enter(v, true) }
func (p *purse) Drop(v cluster.VMID) { p.enter(v, false) }

func (p *purse) enter(v cluster.VMID, in bool) {
	need := p.c.VMs[v].Reserved().Memory
	switch {
	case p.taken[v] == in:
		return
	case in:
		need = -need
	}
	p.left += need
	p.taken[v] = in
}

// Checks have the order of the admission controls: each fails first once the earlier ones
// pass, and reports its figures.
func TestChecksComeInTheirOrder(t *testing.T) {
	c := two(60, 60)
	pool := &purse{c: c, left: 10 << 30, taken: map[cluster.VMID]bool{}}
	c.Networks, c.Datastores = []string{"a"}, []string{"x", "y"}
	c.VMs[1].Host, c.VMs[1].Pinned, c.VMs[1].Networks, c.VMs[1].Datastores = 0, true, nil, nil
	vm := &c.VMs[0]
	vm.Networks, vm.Datastores, vm.VCPUs, vm.CPU.Reservation = []int32{0}, []int32{0, 1}, 99, 1_000_000
	for h := range c.Hosts {
		c.Hosts[h].Networks, c.Hosts[h].Datastores = nil, []int32{int32(h)}
	}
	c.Hosts[1].Datastores, c.Hosts[0].MostVMs, c.Settings.SpareHosts = nil, 1, 1
	c.Rules = []cluster.Rule{
		{Name: "away", Kind: cluster.OffHosts, Must: true, VMs: []cluster.VMID{0}, Hosts: []cluster.HostID{0}},
		{Name: "apart", Kind: cluster.Apart, Must: true, VMs: []cluster.VMID{0, 1}},
	}
	for _, step := range []struct {
		want string
		mend func()
	}{
		{"1000000 MHz of CPU would be reserved, but with 1 hosts failed only", func() { c.Settings.SpareHosts = 0 }},
		{"none of the 2 usable hosts reaches the datastore y", func() { c.Hosts[1].Datastores = []int32{1} }},
		{"none of the 2 usable hosts reaches all of its 2 datastores", func() { c.Hosts[0].Datastores = []int32{0, 1} }},
		{"the purse has 10737418240 left, and 64424509440 are needed", func() { pool.left = 90 << 30 }},
		{"the host does not have the network a", func() { c.Hosts[0].Networks = []int32{0} }},
		{"99 vCPUs are more than the host's 64 threads", func() { vm.VCPUs = 8 }},
		{"the rule away does not allow it", func() { c.Rules[0].Disabled = true }},
		{"the rule apart keeps it apart from vm-1, which runs there", func() { c.Rules[1].Disabled = true }},
		{"it reserves 1000000 MHz, but", func() { vm.CPU.Reservation = 1000 }},
		{"it reserves 60 GiB of memory, but only 40 GiB are unreserved there", func() { c.Hosts[0].Memory = 200 << 30 }},
		{"it already runs its maximum of 1 VMs", func() { c.Hosts[0].MostVMs = 0 }},
	} {
		p, _ := placer(c)
		p.Ask(pool)
		got := p.Place(0)
		text := got.Denied
		if text == "" {
			for _, v := range p.Explain(0) {
				if v.Host == 0 {
					text = v.Obstacle.Text(c, 0)
				}
			}
		}
		if got.Host != cluster.Nowhere || !strings.HasPrefix(text, step.want) {
			t.Errorf("%q, want %q (%+v)", text, step.want, got)
		}
		step.mend()
	}
	p, _ := placer(c)
	p.Ask(pool)
	got := p.Place(0)
	if p.Take(got); got.Host != 0 || pool.left != 30<<30 {
		t.Errorf("%+v, %d left", got, pool.left)
	}
}

// A group takes reservations from the pool as it places VMs, and returns those of attempts: in
// the end exactly the running VMs are accounted for.
func TestGroupPaysForWhatItPlaces(t *testing.T) {
	refused := 0
	for seed := range uint64(40) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 4, VMs: 40, Rules: 20, Load: .5})
		const all = 40 << 30
		pool := &purse{c: c, left: all, taken: map[cluster.VMID]bool{}}
		p, l := placer(c)
		p.Ask(pool)
		var vms []cluster.VMID
		for v := range c.VMs {
			vms = append(vms, cluster.VMID(v))
		}
		paid := int64(0)
		for _, choice := range p.Group(vms) {
			need := c.VMs[choice.VM].Reserved().Memory
			if choice.Host != cluster.Nowhere {
				paid += need
			} else if strings.HasPrefix(choice.Denied, "the purse") {
				refused++
			}
			if (choice.Host == cluster.Nowhere) == pool.taken[choice.VM] || pool.taken[choice.VM] != (l.Host(choice.VM) != cluster.Nowhere) {
				t.Errorf("seed %d: %+v, taken: %v", seed, choice, pool.taken[choice.VM])
			}
		}
		if paid != all-pool.left || paid > all {
			t.Errorf("seed %d: %d is placed and %d is paid", seed, paid, all-pool.left)
		}
	}
	if refused < 40 {
		t.Errorf("%d were refused: the test sees too little", refused)
	}
}
