package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/difftest"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// Whatever study, seed and outcome: what is promised of every course holds.
func TestCourseProperties(t *testing.T) {
	for seed := range uint64(300) {
		chance := rand.New(rand.NewPCG(seed, 11))
		p := planned(t, ask(func(s *study.Study) { draw(s, chance) }), seed)
		if seed%3 == 0 {
			p.Retry = "" // as in older results
		}
		voids, noise := chance.Float64()*.1, chance.Float64()*.1
		course := p.Begin()
		var records []measure.Record
		var issued []Trial
		for next, ok := course.Next(); ok; next, ok = course.Next() {
			if again, _ := course.Next(); again != next {
				t.Fatalf("seed %d: Next changed its mind from %+v to %+v", seed, next, again)
			}
			if next.Number != len(issued)+1 {
				t.Fatalf("seed %d: trial %d after %d trials", seed, next.Number, len(issued))
			}
			r := answer(next, 100*math.Exp(noise*chance.NormFloat64()+.02*float64(next.Arm)))
			if chance.Float64() < voids {
				r.Void = "planted"
			}
			issued, records = append(issued, next), append(records, r)
			course.Done(r)
		}
		checkBlocks(t, p, issued, records, course.Status())
		cut := chance.IntN(len(records))
		again, ok := p.Replay(records[:cut]).Next()
		if !ok || again != issued[cut] {
			t.Fatalf("seed %d: after %d records comes %+v, not %+v", seed, cut, again, issued[cut])
		}
		if lines := difftest.Lines(p.Replay(records).Status(), course.Status()); lines != "" {
			t.Fatalf("seed %d: replayed to another status:\n%s", seed, lines)
		}
	}
}

// draw makes a study up.
func draw(s *study.Study, chance *rand.Rand) {
	s.Factors = nil
	for i := range chance.IntN(4) {
		f := study.Factor{Name: fmt.Sprint("w.f", i), Restart: chance.IntN(3) == 0}
		for l := range 1 + chance.IntN(3) {
			f.Levels = append(f.Levels, fmt.Sprint(l))
		}
		s.Factors = append(s.Factors, f)
	}
	s.Measure.Retries = chance.IntN(5)
	switch chance.IntN(3) {
	case 0:
		s.Measure.Blocks = 1 + chance.IntN(12)
	case 1:
		s.Measure.Precision = .05
	}
}

func checkBlocks(t *testing.T, p *Plan, issued []Trial, records []measure.Record, s Status) {
	t.Helper()
	arms, valid, plots := map[int][]int{}, map[int]int{}, map[int]string{}
	seeds := map[int]uint64{}
	voids, last, inSlot := 0, 0, 0
	for i, trial := range issued {
		if trial.Block < last || trial.Block > last+1 {
			t.Fatalf("block %d after block %d", trial.Block, last)
		}
		if trial.Number != i+1 {
			t.Fatalf("trial %d is the one after %d others", trial.Number, i)
		}
		last = trial.Block
		if again := i > 0 && issued[i-1].Block == trial.Block && !records[i-1].Valid(); again {
			if repeated := issued[i-1]; p.Retry != InSlot || trial.Slot != repeated.Slot || trial.Arm != repeated.Arm || trial.Plot != repeated.Plot {
				t.Fatalf("%+v follows the void %+v", trial, repeated)
			}
			inSlot++
		} else {
			arms[trial.Block], inSlot = append(arms[trial.Block], trial.Arm), 1
		}
		if trial.Slot != len(arms[trial.Block]) || inSlot > mostInSlot {
			t.Fatalf("slot %d of block %d is number %d in it, for the time %d", trial.Slot, trial.Block, len(arms[trial.Block]), inSlot)
		}
		if known, ok := seeds[trial.Block]; trial.Seed >= 1<<53 || ok && trial.Seed != known {
			t.Fatalf("seed %d of block %d", trial.Seed, trial.Block)
		}
		if seeds[trial.Block] = trial.Seed; records[i].Valid() {
			valid[trial.Block]++
		} else {
			voids++
		}
		whole := ""
		for _, f := range p.Study.Factors {
			if f.Restart && len(f.Levels) > 1 {
				whole += p.Arms[trial.Arm].Levels[f.FullName()] + ","
			}
		}
		if before, ok := plots[trial.Plot]; ok && before != whole || (whole == "") != (trial.Plot == 0) {
			t.Fatalf("whole plot %d holds %q and %q", trial.Plot, before, whole)
		}
		plots[trial.Plot] = whole
	}
	complete := 0
	for block, held := range arms {
		seen := slices.Clone(held)
		slices.Sort(seen)
		if len(slices.Compact(seen)) != len(held) {
			t.Fatalf("block %d holds arms %v", block, held)
		}
		if valid[block] == len(p.Arms) {
			complete++
		} else if valid[block] != len(held)-1 {
			t.Fatalf("block %d went on after a void trial", block)
		}
	}
	if s.Blocks != complete || s.Void != voids || s.Trials != len(issued) || s.Reason == "" || voids > p.Study.Measure.Retries+1 {
		t.Fatalf("%d complete blocks, %d void trials, %+v", complete, voids, s)
	}
	if voids <= p.Study.Measure.Retries && !s.Short && !s.Decided && complete != s.Target {
		t.Fatalf("stopped early: %+v", s)
	}
}

// The order that a printed seed stands for must stay what it is, or a report
// could not be reproduced.
func TestOrderOfASeedNeverChanges(t *testing.T) {
	p := planned(t, ask(func(s *study.Study) {
		s.Factors[0].Levels = []string{"1", "2", "4", "8"}
		s.Measure.Blocks = 3
	}), 42)
	var order []int
	for trial := range p.Trials() {
		order = append(order, trial.Arm)
	}
	if want := []int{0, 1, 2, 3, 3, 2, 1, 0, 2, 0, 3, 1}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// Orders of neighbouring pairs of blocks, and of whole plots and their inner order,
// are independent: each of the 4 x 4 pairs of first arms is about as frequent. The
// second block of a pair is the mirror image of the first.
func TestOrdersAreIndependent(t *testing.T) {
	p := planned(t, ask(func(s *study.Study) {
		s.Factors = []study.Factor{{Name: "host.boot", Levels: []string{"x", "y"}, Restart: true}, {Name: "w.depth", Levels: []string{"1", "2"}}}
		s.Measure.Blocks = 4000
	}), 9)
	var inner, neighbours [4][4]int
	last, pairs := -1, p.Most/2
	for pair := range pairs {
		trials := p.block(2*pair+1, 2*pair, 1, PhaseMain)
		mirror := p.block(2*pair+2, 2*pair+1, 1, PhaseMain)
		for i := range trials {
			if mirror[i].Arm != trials[3-i].Arm {
				t.Fatalf("blocks %d and %d are no mirror images: %+v, %+v", 2*pair+1, 2*pair+2, trials, mirror)
			}
		}
		inner[trials[0].Arm][trials[2].Arm]++ // whole plot and order in it, for both plots
		if last >= 0 {
			neighbours[last][trials[0].Arm]++
		}
		last = trials[0].Arm
	}
	square := func(n [4][4]int, cells []int, total int) (chi float64) {
		want := float64(total) / float64(len(cells))
		for _, c := range cells {
			d := float64(n[c/4][c%4]) - want
			chi += d * d / want
		}
		return chi
	}
	all := make([]int, 16)
	for i := range all {
		all[i] = i
	}
	// 99.99 % points of chi square with 15 and 7 degrees of freedom.
	if chi := square(neighbours, all, pairs-1); chi > 44.3 {
		t.Errorf("first arms of neighbouring pairs: chi square %.1f", chi)
	}
	across := slices.DeleteFunc(all, func(c int) bool { return c/4/2 == c%4/2 }) // the second plot is the other level
	if chi := square(inner, across, pairs); len(across) != 8 || chi > 29.9 {
		t.Errorf("orders within whole plots: chi square %.1f over %d cells", chi, len(across))
	}
}

func TestPlanningIsFast(t *testing.T) {
	start := time.Now()
	if n := long(10_000); n != 10_000 {
		t.Fatalf("%d trials", n)
	}
	if took := time.Since(start); took > time.Second {
		t.Errorf("10,000 trials took %s", took)
	}
}

// Every arm runs in every slot, and before and after the baseline, equally often,
// also where void blocks are repeated: a repeated block keeps its order.
func TestOrderIsBalancedOverCompleteBlocks(t *testing.T) {
	restart := func(s *study.Study) {
		s.Factors = []study.Factor{{Name: "host.boot", Levels: []string{"x", "y"}, Restart: true}, {Name: "w.depth", Levels: []string{"1", "2", "3"}}}
	}
	levels := func(n int) func(*study.Study) {
		return func(s *study.Study) {
			s.Factors[0].Levels = nil
			for l := range n {
				s.Factors[0].Levels = append(s.Factors[0].Levels, fmt.Sprint(l))
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(*study.Study)
		period int
		slots  bool // each arm is in each slot equally often
	}{
		{"2 arms", levels(2), 2, true}, {"3 arms", levels(3), 6, true}, {"4 arms", levels(4), 4, true}, {"5 arms", levels(5), 10, true}, {"split plots", restart, 6, false},
	} {
		for seed := range uint64(20) {
			p := planned(t, ask(func(s *study.Study) { c.change(s); s.Measure.Blocks, s.Measure.Retries = 2*c.period, 20 }), seed)
			chance := rand.New(rand.NewPCG(seed, 3))
			var held [][]Trial
			slots, after := map[[2]int]int{}, map[int]int{}
			course := p.Begin()
			for next, ok := course.Next(); ok; next, ok = course.Next() {
				r := answer(next, 100)
				if chance.Float64() < 0.05 {
					r.Void = "planted"
				}
				if next.Slot == 1 && (len(held) == 0 || held[len(held)-1] != nil) {
					held = append(held, nil)
				}
				if r.Valid() {
					held[len(held)-1] = append(held[len(held)-1], next)
				}
				if course.Done(r); r.Valid() && next.Slot == len(p.Arms) {
					at := map[int]int{}
					whole := held[len(held)-1]
					for _, trial := range whole[len(whole)-len(p.Arms):] {
						slots[[2]int{trial.Arm, trial.Slot}]++
						at[trial.Arm] = trial.Slot
					}
					for arm := range p.Arms {
						if at[arm] > at[0] {
							after[arm]++
						}
					}
				}
			}
			if course.Status().Short {
				continue // too many void trials
			}
			for at, n := range slots {
				if want := 2 * c.period / len(p.Arms); c.slots && n != want {
					t.Fatalf("%s, seed %d: arm %d was %d times in slot %d, want %d", c.name, seed, at[0], n, at[1], want)
				}
			}
			for arm := 1; arm < len(p.Arms); arm++ {
				if after[arm] != c.period {
					t.Fatalf("%s, seed %d: arm %d ran after the baseline in %d of %d blocks", c.name, seed, arm, after[arm], 2*c.period)
				}
			}
		}
	}
}

// A plan of older results, which does not name its order, keeps it.
func TestOrderOfOlderPlans(t *testing.T) {
	p := planned(t, ask(func(s *study.Study) {
		s.Factors[0].Levels = []string{"1", "2", "4", "8"}
		s.Measure.Blocks = 3
	}), 42)
	p.Order = ""
	var order []int
	for trial := range p.Trials() {
		order = append(order, trial.Arm)
	}
	if want := []int{0, 1, 3, 2, 1, 2, 0, 3, 1, 3, 2, 0}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

// long runs a study of two arms with the given number of trials.
func long(trials int) int {
	s := ask(func(s *study.Study) { s.Measure.Blocks = trials / 2 })
	p, err := New(s, 1)
	if err != nil {
		return 0
	}
	c := p.Begin()
	n := 0
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		n++
		c.Done(answer(t, float64(n)))
		_ = c.Status()
	}
	return n
}

func BenchmarkCourse(b *testing.B) {
	for _, trials := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(trials), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if long(trials) != trials {
					b.Fatal("trials are missing")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(trials), "ns/trial")
		})
	}
}
