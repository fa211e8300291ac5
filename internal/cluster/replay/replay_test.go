package replay

import (
	"math/rand/v2"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/scenario"
	"plimsoll/internal/effort"
)

const gib = 1 << 30

// still is a demand that does not change.
type still map[cluster.VMID]scenario.Sample

func (s still) At(v cluster.VMID, _ int64) scenario.Sample { return s[v] }

// script is a policy with fixed moves by second.
type script struct {
	steps map[int64][]Step
	seen  []View
}

func (*script) Every() int64 { return 10 }

func (p *script) Round(v *View) []Step {
	p.seen = append(p.seen, *v)
	return p.steps[v.Now]
}

// pair is a cluster of two hosts of 16 GHz and 64 GiB, and VMs on the first.
func pair(vms int, nic int64) *scenario.Scenario {
	c := &cluster.Cluster{Name: "pair", Settings: cluster.DefaultSettings()}
	free := cluster.Allocation{Limit: cluster.Unlimited, Shares: 4000}
	c.Pools = []cluster.Pool{{Name: "root", Parent: cluster.Nowhere, CPU: free, Mem: free}}
	for _, name := range []string{"a", "b"} {
		c.Hosts = append(c.Hosts, cluster.Host{Name: name, State: cluster.Connected, Sockets: 1, NodesPerSocket: 1, CoresPerNode: 8, ThreadsPerCore: 2,
			MHz: 2000, Memory: 64 * gib, Factor: 1000, NIC: nic})
	}
	s := &scenario.Scenario{Name: "pair", Cluster: c, Length: 3600}
	demand := still{}
	for i := range vms {
		c.VMs = append(c.VMs, cluster.VM{Name: string(rune('p' + i)), VCPUs: 4, Memory: 8 * gib, CPU: free, Mem: free})
		demand[cluster.VMID(i)] = scenario.Sample{CPU: 2000, Active: 2 * gib}
	}
	s.Demand = demand
	return s
}

func run(t *testing.T, s *scenario.Scenario, p Policy) *Outcome {
	t.Helper()
	o, err := Run(t.Context(), s, p)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// A move takes the time to copy its memory over four fifths of the network. Moves of one host
// share its network, and memory dirtied meanwhile is sent again.
func TestMovesTakeTime(t *testing.T) {
	const nic = 10_000_000_000 // 1 GB/s for moves
	took := func(dirty int64, vms ...cluster.VMID) (out []int64) {
		s := pair(4, nic)
		for v, x := range s.Demand.(still) {
			x.Dirty = dirty
			s.Demand.(still)[v] = x
		}
		var steps []Step
		for _, v := range vms {
			steps = append(steps, Step{VM: v, To: 1})
		}
		for _, e := range run(t, s, &script{steps: map[int64][]Step{20: steps}}).Log {
			out = append(out, e.Took)
		}
		return out
	}
	const alone = 8 * gib * 1000 / 1_000_000_000 // milliseconds
	for _, c := range []struct {
		name  string
		dirty int64
		vms   []cluster.VMID
		want  int64
	}{{"alone", 0, []cluster.VMID{0}, alone}, {"two at a time", 0, []cluster.VMID{0, 1}, 2 * alone}, {"busy memory", 500_000_000, []cluster.VMID{0}, 2 * alone}} {
		for _, got := range took(c.dirty, c.vms...) {
			if got < c.want-2 || got > c.want+20 {
				t.Errorf("%s: it took %d ms, want %d", c.name, got, c.want)
			}
		}
		if n := len(took(c.dirty, c.vms...)); n != len(c.vms) {
			t.Errorf("%s: %d moves, want %d", c.name, n, len(c.vms))
		}
	}
	s := pair(1, nic)
	s.Demand.(still)[0] = scenario.Sample{CPU: 2000, Active: gib, Dirty: 2_000_000_000}
	o := run(t, s, &script{steps: map[int64][]Step{20: {{VM: 0, To: 1}}}})
	if o.Moves != 0 || o.Aborted != 1 || o.Copied < 500*1_000_000_000 {
		t.Errorf("a move that never ends: %d moves, %d aborted, %d bytes", o.Moves, o.Aborted, o.Copied)
	}
}

// Ten VMs of 2 GHz on a host of 16 GHz lack 4 GHz until two have left.
func TestShortfallIsWhatIsLacking(t *testing.T) {
	s := pair(10, 10_000_000_000)
	s.Length = 1000
	o := run(t, s, &script{})
	if want := int64(4000 * 1000 * 1000); o.Short.CPU != want || o.Entitled.CPU != 20000*1000*1000 || o.Short.Memory != 0 {
		t.Errorf("short of %d of %d MHz·ms, want %d", o.Short.CPU, o.Entitled.CPU, want)
	}
	if o.Overload != 1000*1000 || o.Satisfied != 0 {
		t.Errorf("%d ms of overload, %d ms satisfied", o.Overload, o.Satisfied)
	}
	// Two moves of 8.6 s each at half the network; while they last, they take 0.5 of a core
	// each at 4 Gbit/s on both hosts.
	moved := run(t, s, &script{steps: map[int64][]Step{500: {{VM: 0, To: 1}, {VM: 1, To: 1}}}})
	took := moved.Log[0].Took
	// 4 Gbit/s each is 0.4 of a core.
	if want := 4000*(500_000+took) + 2*800*took; abs(moved.Short.CPU-want) > want/1000 {
		t.Errorf("short of %d MHz·ms, want %d", moved.Short.CPU, want)
	}
}

func abs(x int64) int64 { return max(x, -x) }

// A failed host is detected after 30 s, its VMs start elsewhere within 40 s of the decision,
// and until then they lack their whole entitlement.
func TestFailure(t *testing.T) {
	s := pair(2, 10_000_000_000)
	s.Events = []scenario.Event{{At: 600, Kind: scenario.HostEvent, Hosts: []cluster.HostID{0}, State: cluster.Failed}}
	p := &script{steps: map[int64][]Step{610: {{VM: 0, To: 1}}, 630: {{VM: 0, To: 1}, {VM: 1, To: 1}}}}
	o := run(t, s, p)
	if want := int64(2*2000) * 70_000; o.Short.CPU != want {
		t.Errorf("short of %d MHz·ms, want %d", o.Short.CPU, want)
	}
	if o.Refused != 1 || len(o.Log) != 2 || o.Moves != 0 {
		t.Errorf("%d refused before the failure was known, %d started, %d moved", o.Refused, len(o.Log), o.Moves)
	}
	for _, v := range p.seen {
		if known := v.Cluster.Hosts[0].State == cluster.Failed; known != (v.Now >= 630) {
			t.Errorf("at %d s the policy knows of the failure: %t", v.Now, known)
		}
	}
}

// A move back within the hour is a flap, unless a host in maintenance forced it.
func TestFlaps(t *testing.T) {
	back := map[int64][]Step{20: {{VM: 0, To: 1}}, 600: {{VM: 0, To: 0}}}
	if o := run(t, pair(2, 10_000_000_000), &script{steps: back}); o.Flaps != 1 || o.Moves != 2 {
		t.Errorf("%d flaps in %d moves", o.Flaps, o.Moves)
	}
	s := pair(2, 10_000_000_000)
	s.Events = []scenario.Event{
		{At: 10, Kind: scenario.HostEvent, Hosts: []cluster.HostID{0}, State: cluster.Maintenance},
		{At: 500, Kind: scenario.HostEvent, Hosts: []cluster.HostID{0}, State: cluster.Connected},
	}
	if o := run(t, s, &script{steps: back}); o.Flaps != 0 || o.Moves != 2 || o.Draining == 0 {
		t.Errorf("%d flaps in %d moves after maintenance, %d ms of emptying", o.Flaps, o.Moves, o.Draining)
	}
}

// chaos is a policy that moves any VM anywhere.
type chaos struct{ random *rand.Rand }

func (chaos) Every() int64 { return 10 }

func (p chaos) Round(v *View) (out []Step) {
	for range p.random.IntN(12) {
		out = append(out, Step{VM: cluster.VMID(p.random.IntN(len(v.Cluster.VMs))), To: cluster.HostID(p.random.IntN(len(v.Cluster.Hosts))), Number: p.random.IntN(4)})
	}
	return out
}

// No policy can violate a hard constraint or lose a VM, and served demand and shortfall add up
// to the entitlement.
func TestNothingBreaksWhateverAPolicySays(t *testing.T) {
	moves, refused := 0, 0
	for seed := range uint64(effort.Of(25)) {
		c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 5, VMs: 40, Rules: 10, Pools: 3, Load: .8, Placed: true})
		s := &scenario.Scenario{Name: "chaos", Cluster: c, Length: 1800, Demand: scenario.NewPatterned(c, scenario.Clock{Length: 1800, Seed: seed}, nil)}
		w := newWorld(s, chaos{rand.New(rand.NewPCG(seed, 1))})
		for w.now < w.end {
			w.sample()
			w.happen()
			w.arrive()
			w.decide()
			w.start()
			for i := range w.flights.list {
				w.both(t, seed, &w.flights.list[i])
			}
			w.spend(w.next())
		}
		o := &w.out
		moves, refused = moves+o.Moves, refused+o.Refused
		if o.Violated > 0 {
			t.Errorf("seed %d: %d ms of what must hold were broken", seed, o.Violated)
		}
		if o.Short.CPU > o.Entitled.CPU || o.Short.CPU < 0 || o.Entitled.CPU <= 0 {
			t.Errorf("seed %d: short of %d of %d", seed, o.Short.CPU, o.Entitled.CPU)
		}
		for v := range c.VMs {
			if (c.VMs[v].Host == cluster.Nowhere) != (w.c.VMs[v].Host == cluster.Nowhere) && w.c.VMs[v].Host == cluster.Nowhere {
				t.Errorf("seed %d: VM %d runs no more", seed, v)
			}
		}
	}
	if moves < effort.Of(500) || refused < effort.Of(500) {
		t.Errorf("%d moves and %d refused: the test sees too little", moves, refused)
	}
}

// both checks that a migrating VM violates no constraint on either host.
func (w *world) both(t *testing.T, seed uint64, f *flight) {
	for _, h := range []cluster.HostID{f.from, f.to} {
		where := func(v cluster.VMID) cluster.HostID {
			if v == f.vm {
				return h
			}
			return w.c.VMs[v].Host
		}
		for _, x := range cluster.Violations(w.c, where) {
			if x.Rule == cluster.Nowhere || w.c.Rules[x.Rule].Kind == cluster.Apart {
				t.Errorf("seed %d: a VM on its way to %s: %s", seed, w.c.Hosts[f.to].Name, x.Text)
			}
		}
	}
}
