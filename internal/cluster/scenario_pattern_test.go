package cluster_test

import (
	"math"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/scenario"
)

// VMs is a cluster of VMs of 4 vCPUs on cores of 2 GHz.
func vms(n int) *cluster.Cluster {
	c := &cluster.Cluster{Settings: cluster.DefaultSettings(), Hosts: []cluster.Host{{Sockets: 1, NodesPerSocket: 1, CoresPerNode: 8, ThreadsPerCore: 2, MHz: 2000, Factor: 1000}}}
	for range n {
		v := cluster.VM{VCPUs: 4, Memory: 8 << 30}
		v.CPU.Limit, v.Mem.Limit = cluster.Unlimited, cluster.Unlimited
		v.Demand.CPU = cluster.Steady(1000)
		c.VMs = append(c.VMs, v)
	}
	return c
}

func flat(perMille int64) scenario.Line {
	return scenario.Line{Given: true, From: perMille, To: perMille, Share: [2]bool{true, true}}
}

func TestPatterns(t *testing.T) {
	all := []cluster.VMID{0, 1}
	p := scenario.NewPatterned(vms(3), scenario.Clock{Length: 86_400}, []scenario.Pattern{
		{VMs: all, From: 100, To: 1000, CPU: flat(500)},
		{VMs: all, From: 2000, To: 4000, CPU: scenario.Line{Given: true, From: 0, To: 1000, Share: [2]bool{true, true}}},
		{VMs: all, From: 5000, To: 9000, Every: 1000, For: 200, Shift: 500, CPU: flat(1000)},
		{VMs: all[:1], From: 20_000, To: 86_400, CPU: flat(500), Daily: 400, Peak: 43_200},
		{VMs: all[1:], From: 20_000, To: 30_000, Active: scenario.Line{Given: true, From: 1 << 30, To: 1 << 30}},
	})
	for _, c := range []struct {
		what   string
		vm     cluster.VMID
		second int64
		cpu    int64
	}{
		{"before, as the cluster says", 0, 99, 1000}, {"while it lasts", 0, 100, 4000}, {"after it", 0, 1000, 1000}, {"another VM", 2, 500, 1000},
		{"half-way up", 1, 3000, 4000}, {"nearly up", 1, 3999, 7996},
		{"a burst", 0, 5100, 8000}, {"between bursts", 0, 5300, 1000}, {"the burst of the second", 1, 5600, 8000}, {"not yet that of the second", 1, 5100, 1000},
		{"noon", 0, 43_200, 5600}, {"six in the evening", 0, 64_800, 4000}, {"midnight", 0, 86_399, 2400},
	} {
		if got := p.At(c.vm, c.second).CPU; math.Abs(float64(got-c.cpu)) > 1 {
			t.Errorf("%s: VM %d asks for %d MHz at %d s, want %d", c.what, c.vm, got, c.second, c.cpu)
		}
	}
	if got := p.At(1, 25_000).Active; got != 1<<30 {
		t.Errorf("%d bytes are used, want 1 GiB", got)
	}
}

// Noise has the given deviation, is correlated from step to step, is a VM's own or common to
// all, and depends on the seed alone.
func TestChance(t *testing.T) {
	const length = 20 * 50_000
	own := []scenario.Pattern{{VMs: []cluster.VMID{0, 1}, To: length, CPU: flat(500), Noise: 100}}
	common := []scenario.Pattern{{VMs: []cluster.VMID{0, 1}, To: length, CPU: flat(500), Common: 100}}
	series := func(patterns []scenario.Pattern, seed uint64, v cluster.VMID) (out []float64) {
		p := scenario.NewPatterned(vms(2), scenario.Clock{Length: length, Seed: seed}, patterns)
		for second := int64(0); second < length; second += scenario.Step {
			out = append(out, float64(p.At(v, second).CPU))
		}
		return out
	}
	a, b, c, d := series(own, 1, 0), series(own, 1, 1), series(common, 1, 0), series(common, 1, 1)
	mean, sd := moments(a)
	if math.Abs(mean-4000) > 20 || math.Abs(sd-400) > 20 {
		t.Errorf("mean %.0f, deviation %.0f, want 4000 and 400", mean, sd)
	}
	for _, x := range []struct {
		what       string
		a, b       []float64
		least, top float64
	}{{"from step to step", a[1:], a[:len(a)-1], .88, .92}, {"of two VMs", a, b, -.05, .05}, {"that is shared", c, d, 1, 1}, {"of two seeds", a, series(own, 2, 0), -.05, .05}} {
		if r := correlation(x.a, x.b); r < x.least-1e-9 || r > x.top+1e-9 {
			t.Errorf("chance %s: correlation %.3f, want %g to %g", x.what, r, x.least, x.top)
		}
	}
}

func moments(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, math.Sqrt(sd)
}

func correlation(a, b []float64) float64 {
	ma, sa := moments(a)
	mb, sb := moments(b)
	sum := 0.
	for i := range a {
		sum += (a[i] - ma) * (b[i] - mb) / float64(len(a))
	}
	return sum / sa / sb
}
