package balance

import (
	"math"
	"reflect"
	"testing"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/balance/advice"
	"plimsoll/internal/cluster/balance/draft"
	"plimsoll/internal/cluster/balance/goal"
	"plimsoll/internal/cluster/balance/refusal"
	"plimsoll/internal/cluster/balance/relief"
	"plimsoll/internal/cluster/balance/repair"
	"plimsoll/internal/cluster/balance/swap"
	"plimsoll/internal/cluster/balance/worth"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/cluster/place"
	"plimsoll/internal/effort"
)

// oracle moves VMs for load balance by weighing all VMs and all hosts before each move.
// Between moves it keeps only the steps that use spare capacity, and the closed hosts.
// Exchanges have their own oracle.
type oracle struct {
	d *draft.Draft
	f *relief.Relief
}

func (r *oracle) even() string {
	d := r.d
	d.Balancing()
	r.f = relief.New(d)
	swaps := swap.New(d, r.f)
	for begin := len(d.Plan.Moves); ; {
		if quiet := goal.New(d, r.f).Reached(); quiet != "" {
			return quiet
		}
		left := math.MaxInt
		if most := d.Cluster.Settings.MostMoves; most > 0 {
			left = most - (len(d.Plan.Moves) - begin)
		}
		if left <= 0 {
			return ""
		}
		best, found := r.bestOfAll(func(h cluster.HostID) bool { return !r.f.Hopeless(h) })
		if !found && r.f.Shrink() {
			continue
		}
		if !found && swaps.Make(left) {
			continue
		}
		if !found {
			return refusal.Report(d, r.f, r.allNotMade())
		}
		r.offOneHost(best.Step, left)
	}
}

// offOneHost plans the best moves off a host, and undoes them if they do not save what the
// level requires.
func (r *oracle) offOneHost(s place.Step, left int) {
	d := r.d
	from, least, begin, end, saved := s.From, r.f.Least(s.From), len(d.Plan.Moves), -1, int64(0)
	for found := true; found; {
		vms := d.Units.With(d.Layout, s.VM)
		if end < 0 && (!d.Clock.InTime(vms, s) || len(d.Plan.Moves)-begin+len(vms) > left) {
			end = len(d.Plan.Moves)
		}
		v := worth.Value(d, s)
		saved += v.Gain / v.Stable
		m := advice.For(d.Hosts[from].FairReason())
		m.Value, m.Note = v, d.Units.Note(d.Cluster, vms)
		d.Move(vms, s.To, m)
		if !d.Cluster.Settings.CostBenefit || saved >= least || saved+r.f.Potential(from) < least {
			break
		}
		resume := d.Clock.Pause()
		var best refusal.Candidate
		best, found = r.bestOfAll(func(h cluster.HostID) bool { return h == from })
		s = best.Step
		resume()
	}
	if d.Cluster.Settings.CostBenefit && saved < least {
		r.f.Short(from, saved)
		d.Undo(begin)
	} else if end >= 0 {
		d.Undo(end)
	}
	if len(d.Plan.Moves) == begin {
		r.f.Close(from)
	}
}

// eachStep visits all moves that improve the balance.
func (r *oracle) eachStep(visit func(refusal.Candidate)) {
	d := r.d
	for v := range cluster.VMID(len(d.Cluster.VMs)) {
		from := d.Layout.Host(v)
		if from == cluster.Nowhere || !d.Loaded(from) {
			continue
		}
		vms := d.Units.With(d.Layout, v)
		if vms[0] != v || !d.MayAllMove(vms) {
			continue
		}
		for to := range cluster.HostID(len(d.Hosts)) {
			s := place.Step{VM: v, From: from, To: to}
			if !d.MayGain(from, to) {
				continue
			}
			if merit := r.merit(vms, s); merit > 0 {
				visit(refusal.Candidate{Step: s, Merit: merit})
			}
		}
	}
}

// merit is that of a step, by definition.
func (r *oracle) merit(vms []cluster.VMID, s place.Step) int64 {
	d, asks := r.d, r.d.Demand(vms)
	from, to := d.Layout.Demand(s.From), d.Layout.Demand(s.To)
	if d.Model.ByScore {
		a, b := &d.Hosts[s.From], &d.Hosts[s.To]
		before := d.ScoreOf(vms, s.From, d.Model.HostLoss(s.From, from, a.Burden))
		after := d.ScoreOf(vms, s.To, d.Model.HostLoss(s.To, to.Plus(asks), b.Burden.Plus(d.Burden(vms, s.To), 1)))
		if after <= before {
			return 0
		}
		return worth.Gain(d, vms, s)
	}
	sum := func(from, to cluster.Resources) int64 {
		a, _ := d.Model.Demerit(s.From, from)
		b, _ := d.Model.Demerit(s.To, to)
		return a + b
	}
	return sum(from, to) - sum(from.Minus(asks), to.Plus(asks))
}

// gain is that of a candidate.
func (r *oracle) gain(c refusal.Candidate) int64 {
	return worth.Gain(r.d, r.d.Units.With(r.d.Layout, c.VM), c.Step)
}

// bestOfAll is the best move off the selected hosts.
func (r *oracle) bestOfAll(off func(cluster.HostID) bool) (best refusal.Candidate, found bool) {
	d := r.d
	for {
		best, found = refusal.Candidate{}, false
		r.eachStep(func(c refusal.Candidate) {
			if !off(c.From) || found && !c.Better(&best) {
				return
			}
			gain := r.gain(c)
			if d.Cluster.Settings.CostBenefit && gain < r.f.Needed(c.From) {
				return
			}
			if worth.Against(d, d.Units.With(d.Layout, c.VM), c.Step, gain) == worth.Nothing {
				best, found = c, true
			}
		})
		if !found || !d.Strains(best.Step) {
			return best, found
		}
	}
}

func (r *oracle) allNotMade() (list refusal.Shortlist) {
	r.eachStep(func(c refusal.Candidate) {
		c.Judge(r.d, r.gain(c))
		list = list.Keep(c)
	})
	return list
}

func exhaustiveRound(l *cluster.Layout, x *cluster.Index, o advice.Options) advice.Plan {
	d := draft.New(l.Clone(), x, o)
	d.Plan.Before = d.Balance()
	repair.Mandatory(d)
	repair.ShouldRules(d)
	d.Plan.Quiet = "level 1 makes mandatory moves only"
	if d.Cluster.Settings.Level > 1 {
		d.Plan.Quiet = (&oracle{d: d}).even()
	}
	d.Plan.After = d.Balance()
	return d.Plan
}

// Plans equal those of an exhaustive search before each move.
func TestPlansAreThoseOfAnExhaustiveSearch(t *testing.T) {
	moves, differ := 0, 0
	for seed := range uint64(effort.Of(100)) {
		for _, model := range []cluster.Model{cluster.ByDeviation, cluster.ByScore} {
			hosts := 4 + int(seed%17)
			c := clustertest.Random(clustertest.Spec{Seed: seed, Hosts: hosts, VMs: hosts * (4 + int(seed%9)), Rules: int(seed%7) * 4, Load: .7 + float64(seed%4)/10, Placed: true})
			if seed%3 == 0 {
				c, _ = generate.Cluster(generate.Typical(hosts, seed))
			}
			c.Settings.Model, c.Settings.SpareHosts, c.Settings.Level, c.Settings.CostBenefit = model, int(seed/2%2), 2+int(seed%4), seed%5 > 0
			if seed%8 == 0 {
				c.Hosts[hosts-1].State = cluster.Quarantined
			}
			l, x := layout(c)
			want, got := exhaustiveRound(l, x, advice.Options{}), Round(l, x, advice.Options{})
			moves += len(want.Moves)
			if !reflect.DeepEqual(got, want) {
				differ++
				t.Errorf("seed %d, %s: %d moves, want %d; %d is lost, want %d\n%q\n%q", seed, model, len(got.Moves), len(want.Moves), got.After.Lost, want.After.Lost, got.Quiet, want.Quiet)
			}
		}
	}
	if moves < effort.Of(1000) {
		t.Errorf("%d moves: the test sees too little", moves)
	}
	t.Logf("%d moves, %d plans differ", moves, differ)
}
