package balance_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/stage"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/migrate"
	"plimsoll/internal/cluster/place"
	"plimsoll/internal/effort"
)

var (
	layout = clustertest.Layout
	hosts  = clustertest.Plain
	texts  = clustertest.Texts
)

// tight is a cluster with rules whose hosts have little room.
func tight(seed uint64, hosts, vms int, room float64) *cluster.Cluster {
	c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: hosts, VMs: vms, Rules: vms / 5, Load: .5})
	total := int64(0)
	for v := range c.VMs {
		c.VMs[v].Mem.Reservation = c.VMs[v].Memory
		total += c.VMs[v].Reserved().Memory
	}
	speeds := []int64{1_000_000_000, 10_000_000_000, 100_000_000}
	for h := range c.Hosts {
		c.Hosts[h].Overhead, c.Hosts[h].Networks = cluster.Resources{}, []int32{0, 1}
		c.Hosts[h].Memory = int64(float64(total) / float64(hosts) * room)
		c.Hosts[h].NIC = speeds[(int(seed)+h)%3]
	}
	l := cluster.NewLayout(c, cluster.NewIndex(c))
	for v := range c.VMs {
		for i := range c.Hosts {
			h := cluster.HostID((v + i) % hosts)
			if l.Obstacle(cluster.VMID(v), h).Check == cluster.Fine {
				l.Move(cluster.VMID(v), h)
				c.VMs[v].Host = h
				break
			}
		}
	}
	return c
}

// walk is a plan of random moves, each of which is valid after those before it. A VM may move
// twice.
func walk(c *cluster.Cluster, seed uint64, moves int) (p advice.Plan) {
	r := rand.New(rand.NewPCG(seed, 7))
	l, _ := layout(c)
	for try := 0; try < 50*moves && len(p.Moves) < moves; try++ {
		v, to := cluster.VMID(r.IntN(len(c.VMs))), cluster.HostID(r.IntN(len(c.Hosts)))
		from := l.Host(v)
		if from == to || from == cluster.Nowhere || l.Obstacle(v, to).Check != cluster.Fine || l.Broken(v, to) > l.Broken(v, from) {
			continue
		}
		l.Move(v, to)
		p.Moves = append(p.Moves, advice.Move{Step: place.Step{VM: v, From: from, To: to}, Number: len(p.Moves) + 1})
	}
	return p
}

// inFlight are the violations while VMs migrate: each counts on both hosts, and its copy on
// the target runs apart from all other copies.
func inFlight(c *cluster.Cluster, host func(cluster.VMID) cluster.HostID, moving []advice.Move) map[string]int {
	d := *c
	d.VMs, d.Rules = slices.Clone(c.VMs), slices.Clone(c.Rules)
	at := make([]cluster.HostID, len(c.VMs), len(c.VMs)+len(moving))
	for v := range at {
		at[v] = host(cluster.VMID(v))
	}
	for _, m := range moving {
		twin := cluster.VMID(len(d.VMs))
		d.VMs, at = append(d.VMs, c.VMs[m.VM]), append(at, m.To)
		for r := range d.Rules {
			_, named := slices.BinarySearch(d.Rules[r].Hosts, at[m.VM])
			if d.Rules[r].OfHosts() && named == (d.Rules[r].Kind == cluster.OffHosts) {
				continue // it violates the rule before the move, and no less during it
			}
			if d.Rules[r].Kind != cluster.Together && slices.Contains(d.Rules[r].VMs, m.VM) {
				d.Rules[r].VMs = append(slices.Clone(d.Rules[r].VMs), twin)
			}
		}
	}
	return texts(cluster.Violations(&d, func(v cluster.VMID) cluster.HostID { return at[v] }))
}

// follow runs a timetable with steps that begin and end in many orders, and returns
// violations. Within a step all moves begin and end together.
func follow(c *cluster.Cluster, l *cluster.Layout, p advice.Plan, t stage.Timetable, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 11))
	was, meet := inFlight(c, l.Host, nil), theyMeet(c, l, p)
	made := map[int]bool{}
	for n, stage := range t.Stages {
		steps := map[int][]advice.Move{}
		for _, i := range stage.Moves {
			m := p.Moves[i]
			if made[i] || l.Host(m.VM) != m.From {
				return fmt.Errorf("stage %d makes move %d of a VM on host %d: %+v", n, i, l.Host(m.VM), m)
			}
			made[i] = true
			steps[m.Number] = append(steps[m.Number], m)
		}
		for sample := range 12 {
			now, moving := l.Clone(), []advice.Move(nil)
			for _, moves := range steps {
				switch state := r.IntN(3); {
				case sample == 0 || state == 1:
					moving = append(moving, moves...)
				case state == 2:
					for _, m := range moves {
						now.Move(m.VM, m.To)
					}
				}
			}
			for text, count := range inFlight(c, now.Host, moving) {
				if count > was[text] {
					return fmt.Errorf("stage %d breaks on its way: %s (%+v)", n, text, moving)
				}
			}
			for pair := range meetings(c, now.Host, moving) {
				if !meet[pair] {
					return fmt.Errorf("stage %d: VMs that run apart meet on their way: %v", n, pair)
				}
			}
		}
		for _, i := range stage.Moves {
			l.Move(p.Moves[i].VM, p.Moves[i].To)
		}
	}
	if len(made) != len(p.Moves) {
		return fmt.Errorf("%d of %d moves are made", len(made), len(p.Moves))
	}
	return nil
}

// meeting is two VMs on one host that a rule keeps apart.
type meeting struct {
	rule   cluster.RuleID
	v, w   cluster.VMID
	onHost cluster.HostID
}

// meetings are those of a layout with migrating VMs, which count on both hosts.
func meetings(c *cluster.Cluster, host func(cluster.VMID) cluster.HostID, moving []advice.Move) map[meeting]bool {
	out, also := map[meeting]bool{}, map[cluster.VMID]cluster.HostID{}
	for _, m := range moving {
		also[m.VM] = m.To
	}
	for r := range c.Rules {
		if c.Rules[r].Kind != cluster.Apart || c.Rules[r].Disabled {
			continue
		}
		on := map[cluster.HostID][]cluster.VMID{}
		for _, v := range c.Rules[r].VMs {
			places := []cluster.HostID{host(v)}
			if to, moves := also[v]; moves {
				places = append(places, to)
			}
			for _, h := range places {
				if h == cluster.Nowhere {
					continue
				}
				for _, w := range on[h] {
					out[meeting{cluster.RuleID(r), w, v, h}] = true
				}
				on[h] = append(on[h], v)
			}
		}
	}
	return out
}

// theyMeet are the meetings when the moves of a plan are made one by one.
func theyMeet(c *cluster.Cluster, l *cluster.Layout, p advice.Plan) map[meeting]bool {
	all, one := map[meeting]bool{}, l.Clone()
	for i := -1; i < len(p.Moves); i++ {
		if i >= 0 {
			one.Move(p.Moves[i].VM, p.Moves[i].To)
		}
		maps.Copy(all, meetings(c, one.Host, nil))
	}
	return all
}

// withinLimits reports whether no host exceeds its migrations in a stage; a stage of one step
// may.
func withinLimits(c *cluster.Cluster, p advice.Plan, moves []int) bool {
	busy, steps := map[cluster.HostID]int{}, map[int]bool{}
	for _, i := range moves {
		m := p.Moves[i]
		steps[m.Number] = true
		if c.Hosts[m.From].Runs() {
			busy[m.From]++
			busy[m.To]++
		}
	}
	for h, n := range busy {
		if n > map[int64]int{100_000_000: 2, 1_000_000_000: 4, 10_000_000_000: 8}[c.Hosts[h].NIC] && len(steps) > 1 {
			return false
		}
	}
	return true
}

func TestNoWayThroughAStageBreaksAnything(t *testing.T) {
	moves, stages, sequential := 0, 0, 0
	check := func(name string, seed uint64, c *cluster.Cluster, p advice.Plan) {
		l, x := layout(c)
		table := stage.Make(l, x, p, migrate.Limits{})
		for n, stage := range table.Stages {
			if !withinLimits(c, p, stage.Moves) {
				t.Errorf("%s %d: stage %d has too many moves: %v", name, seed, n, stage.Moves)
			}
		}
		if err := follow(c, l, p, table, seed); err != nil {
			t.Errorf("%s %d: %v", name, seed, err)
		}
		moves, stages = moves+len(p.Moves), stages+len(table.Stages)
		if len(table.Stages) > 1 {
			sequential++
		}
	}
	for seed := range uint64(effort.Of(120)) {
		c := tight(seed, 5, 40, 1.2)
		check("walk", seed, c, walk(c, seed, 25))
		switch seed % 4 {
		case 1:
			c.Hosts[0].State = cluster.Maintenance
		case 2:
			c.Hosts[1].State = cluster.Failed
		case 3:
			c.Rules = clustertest.Random(clustertest.Spec{Seed: seed + 1000, Hosts: 5, VMs: 40, Rules: 10}).Rules
		}
		l, x := layout(c)
		check("round", seed, c, balance.Round(l, x, advice.Options{}))
	}
	t.Logf("%d moves in %d stages", moves, stages)
	if moves < effort.Of(2500) || sequential < effort.Of(150) {
		t.Errorf("%d moves, %d plans of several stages: the test sees too little", moves, sequential)
	}
}

// fewest is the minimum number of stages of a plan's moves, by trying every set of moves at
// every point.
func fewest(c *cluster.Cluster, p advice.Plan) int {
	l, _ := layout(c)
	n, meet := len(p.Moves), theyMeet(c, l, p)
	was := inFlight(c, l.Host, nil)
	state := func(done int) *cluster.Layout {
		s := l.Clone()
		for i, m := range p.Moves {
			if done&(1<<i) != 0 {
				s.Move(m.VM, m.To)
			}
		}
		return s
	}
	can := func(done, set int) bool {
		var moving []advice.Move
		var list []int
		for i, m := range p.Moves {
			if set&(1<<i) == 0 {
				continue
			}
			moving, list = append(moving, m), append(list, i)
			for j := range i { // a VM's moves keep their order
				if p.Moves[j].VM == m.VM && done&(1<<j) == 0 {
					return false
				}
			}
		}
		if !withinLimits(c, p, list) {
			return false
		}
		s := state(done)
		for text, count := range inFlight(c, s.Host, moving) {
			if count > was[text] {
				return false
			}
		}
		for pair := range meetings(c, s.Host, moving) {
			if !meet[pair] {
				return false
			}
		}
		return true
	}
	stages := make([]int, 1<<n)
	for done := 1; done < 1<<n; done++ {
		stages[done] = 1 << 20
		for set := done; set > 0; set = (set - 1) & done {
			if stages[done&^set]+1 < stages[done] && can(done&^set, set) {
				stages[done] = stages[done&^set] + 1
			}
		}
	}
	return stages[1<<n-1]
}

func TestStagesAreNearlyTheFewest(t *testing.T) {
	same, all, deep := 0, 0, 0
	for seed := range uint64(60) {
		c := tight(seed, 4, 14, 1.25)
		for v := range c.VMs {
			c.VMs[v].Demand.Dirty = 0
		}
		p := walk(c, seed, 6)
		l, x := layout(c)
		got, want := len(stage.Make(l, x, p, migrate.Limits{}).Stages), fewest(c, p)
		all++
		if got == want {
			same++
		}
		if want > 2 {
			deep++
		}
		if got > want+1 || got < want {
			t.Errorf("seed %d: %d stages, the fewest are %d: %+v", seed, got, want, p.Moves)
		}
	}
	t.Logf("%d of %d timetables have the fewest stages that there can be; %d need more than two", same, all, deep)
	if deep < 5 {
		t.Errorf("%d timetables need more than two stages: the test sees too little", deep)
	}
}

// A link of 1 Gbit/s carries 100 MB/s of migrations: those that share it take longer, others
// run in parallel, and a VM that dirties memory faster than that is paused, alone.
func TestTimesOfStages(t *testing.T) {
	c := hosts([]float64{100, 100, 100}, []float64{100}, nil, nil)
	for h := range c.Hosts {
		c.Hosts[h].NIC = 1_000_000_000
	}
	for v, gb := range []int64{10, 20, 10, 30} {
		c.VMs[v].Memory, c.VMs[v].Demand.Dirty = gb*1_000_000_000, 0
		c.VMs[v].Name = fmt.Sprintf("vm-%d", v)
	}
	step := func(v cluster.VMID, from, to cluster.HostID) advice.Move {
		return advice.Move{Step: place.Step{VM: v, From: from, To: to}, Number: int(v) + 1}
	}
	p := advice.Plan{Moves: []advice.Move{step(0, 0, 2), step(1, 0, 3), step(2, 0, 2), step(3, 1, 3)}}
	l, x := layout(c)
	table := stage.Make(l, x, p, migrate.Limits{})
	if len(table.Stages) != 1 || table.Seconds != 600 || table.Stages[0].Seconds != 600 {
		t.Errorf("at the same time: %+v, want 20 GB at a third of the link", table)
	}
	table = stage.Make(l, x, p, migrate.Limits{Host: 2})
	if want := [][]int{{0, 1, 3}, {2}}; len(table.Stages) != 2 || !slices.Equal(table.Stages[0].Moves, want[0]) || !slices.Equal(table.Stages[1].Moves, want[1]) || table.Seconds != 600+100 {
		t.Errorf("two at a time: %+v", table)
	}
	c.VMs[1].Demand.Dirty = 40_000_000 // more than a third of the link, less than half
	if table = stage.Make(l, x, p, migrate.Limits{}); len(table.Stages) != 2 || !slices.Equal(table.Stages[1].Moves, []int{2}) {
		t.Errorf("two of three still end: %+v", table)
	}
	c.VMs[1].Demand.Dirty = 1_000_000_000
	table = stage.Make(l, x, p, migrate.Limits{})
	alone := table.Stages[len(table.Stages)-1]
	if !slices.Equal(alone.Moves, []int{1}) || !slices.Equal(alone.Stopped, []cluster.VMID{1}) || alone.Seconds != 200 {
		t.Errorf("one that never ends: %+v", table)
	}
	c.Hosts[0].State = cluster.Failed
	l, x = layout(c)
	if table = stage.Make(l, x, p, migrate.Limits{Host: 1}); len(table.Stages) != 1 || table.Seconds != 300 {
		t.Errorf("VMs that start again copy nothing: %+v", table)
	}
	if empty := stage.Make(l, x, advice.Plan{}, migrate.Limits{}); len(empty.Stages) != 0 || empty.Seconds != 0 {
		t.Errorf("%+v", empty)
	}
}

func FuzzStages(f *testing.F) {
	f.Add(uint64(1), uint8(4), uint8(20), uint8(120), uint8(20))
	f.Add(uint64(9), uint8(2), uint8(9), uint8(105), uint8(40))
	f.Fuzz(func(t *testing.T, seed uint64, hosts, vms, room, moves uint8) {
		c := tight(seed, 2+int(hosts%6), 4+int(vms%40), float64(room)/100)
		p := walk(c, seed, int(moves%40))
		l, x := layout(c)
		if err := follow(c, l, p, stage.Make(l, x, p, migrate.Limits{}), seed); err != nil {
			t.Error(err)
		}
	})
}
