package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// ask returns a study of one factor with two levels, unless changed.
func ask(change func(*study.Study)) *study.Study {
	s := &study.Study{
		Name:     "ask",
		Factors:  []study.Factor{{Name: "w.depth", Parameter: "depth", Levels: []string{"1", "2"}}},
		Headline: []string{"iops"},
		Margin:   .02,
		Measure:  study.Measure{Window: time.Second, Looks: []int{9, 13, 18, 24}, Retries: 3},
	}
	if change != nil {
		change(s)
	}
	return s
}

func planned(t *testing.T, s *study.Study, seed uint64) *Plan {
	t.Helper()
	p, err := New(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// answer is a record of the trial with the given value.
func answer(t Trial, value float64) measure.Record {
	return measure.Record{Trial: t.Number, Phase: t.Phase, Block: t.Block, Slot: t.Slot, Arm: t.Arm, Values: map[string]float64{"iops": value}}
}

// drive runs a course to its end and returns its trials.
func drive(c *Progress, value func(Trial) float64) []Trial {
	var trials []Trial
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		trials = append(trials, t)
		c.Done(answer(t, value(t)))
	}
	return trials
}

func TestArmsAreTheFullFactorial(t *testing.T) {
	p := planned(t, ask(func(s *study.Study) {
		s.Factors = append(s.Factors, study.Factor{Name: "host.scheduler", Target: "sda", Levels: []string{"none", "bfq", "kyber"}})
	}), 1)
	var labels []string
	for _, a := range p.Arms {
		labels = append(labels, a.Label)
	}
	want := []string{
		"w.depth=1, host.scheduler:sda=none", "w.depth=1, host.scheduler:sda=bfq", "w.depth=1, host.scheduler:sda=kyber",
		"w.depth=2, host.scheduler:sda=none", "w.depth=2, host.scheduler:sda=bfq", "w.depth=2, host.scheduler:sda=kyber",
	}
	if !slices.Equal(labels, want) {
		t.Errorf("arms %q", labels)
	}
}

func TestLabels(t *testing.T) {
	for _, c := range []struct {
		factors []study.Factor
		want    string
	}{
		{nil, "baseline"},
		{[]study.Factor{{Name: "w.depth", Levels: []string{"1"}}}, "w.depth=1"},
		{[]study.Factor{{Name: "w.depth", Levels: []string{"1"}}, {Name: "host.boot", Levels: []string{"x", "y"}}}, "host.boot=x"},
	} {
		p := planned(t, ask(func(s *study.Study) { s.Factors = c.factors }), 1)
		if got := p.Arms[0].Label; got != c.want || len(p.Arms[0].Levels) != len(c.factors) {
			t.Errorf("label %q, levels %v; want %q", got, p.Arms[0].Levels, c.want)
		}
	}
}

func TestStudiesThatAreTooLarge(t *testing.T) {
	levels := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprint(i))
		}
		return out
	}
	for _, c := range []struct {
		factors []int // number of levels of each
		want    string
	}{
		{[]int{2, 2, 2}, ""},
		{[]int{2, 2, 2, 1, 1, 1}, ""},
		{[]int{64}, ""},
		{[]int{2, 2, 2, 2}, "4 factors at once (w.0, w.1, w.2, w.3) are too many"},
		{[]int{5, 13}, "65 arms in a block are too many, 64 is the most"},
		{[]int{64, 64, 64}, "arms in a block are too many"},
		{[]int{0}, "factor w.0 has no level"},
	} {
		_, err := New(ask(func(s *study.Study) {
			s.Factors = nil
			for i, n := range c.factors {
				s.Factors = append(s.Factors, study.Factor{Name: fmt.Sprint("w.", i), Levels: levels(n)})
			}
		}), 1)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.factors, err)
		}
	}
}

func TestEveryBlockHoldsEveryArmOnceInRandomOrder(t *testing.T) {
	p := planned(t, ask(func(s *study.Study) {
		s.Factors[0].Levels = []string{"1", "2", "3", "4"}
		s.Measure.Blocks = 200
	}), 42)
	first := map[int]int{}
	arms := map[int][]int{}
	for trial := range p.Trials() {
		arms[trial.Block] = append(arms[trial.Block], trial.Arm)
		if trial.Slot == 1 {
			first[trial.Arm]++
		}
	}
	for b, a := range arms {
		if slices.Sort(a); !slices.Equal(a, []int{0, 1, 2, 3}) {
			t.Errorf("block %d holds arms %v", b, a)
		}
	}
	// 50 expected; 4.5 standard deviations of a binomial on either side.
	for arm, n := range first {
		if n < 22 || n > 78 {
			t.Errorf("arm %d is first in %d of 200 blocks", arm, n)
		}
	}
	again := slices.Collect(planned(t, p.Study, 42).Trials())
	if !reflect.DeepEqual(again, slices.Collect(p.Trials())) {
		t.Error("the same seed gave another order")
	}
	if reflect.DeepEqual(again, slices.Collect(planned(t, p.Study, 43).Trials())) {
		t.Error("another seed gave the same order")
	}
}

func TestRestartFactorsMakeWholePlots(t *testing.T) {
	p := planned(t, ask(func(s *study.Study) {
		s.Factors = append(s.Factors, study.Factor{Name: "host.boot", Levels: []string{"x", "y"}, Restart: true})
		s.Measure.Blocks = 12
	}), 5)
	level := func(t Trial) string { return p.Arms[t.Arm].Levels["host.boot"] }
	plots := map[int]string{}
	last := Trial{}
	for trial := range p.Trials() {
		if was, seen := plots[trial.Plot]; seen && was != level(trial) {
			t.Errorf("whole plot %d holds both %s and %s", trial.Plot, was, level(trial))
		}
		plots[trial.Plot] = level(trial)
		if trial.Plot < last.Plot {
			t.Errorf("whole plot %d after %d", trial.Plot, last.Plot)
		}
		last = trial
	}
	if len(plots) != 24 {
		t.Errorf("%d whole plots in 12 blocks of 2 levels", len(plots))
	}
	if e := p.Estimate(time.Minute); e.Restarts != 24 || e.Changes["host.boot"] != 24 {
		t.Errorf("estimate %+v", e)
	}
}

func TestLooksStopWhenDecided(t *testing.T) {
	p := planned(t, ask(nil), 3)
	for _, c := range []struct {
		name  string
		value func(Trial) float64
		want  int
	}{
		{"clear gain", func(t Trial) float64 { return 100 * math.Pow(1.3, float64(t.Arm)) * (1 + .001*float64(t.Block%3)) }, 9},
		{"same", func(t Trial) float64 { return 100 * (1 + .0001*float64((t.Block*7+t.Arm)%5)) }, 9},
		{"noise", func(t Trial) float64 {
			return 100 * math.Exp(.5*rand.New(rand.NewPCG(uint64(t.Number), 9)).NormFloat64())
		}, 24},
	} {
		course := p.Begin()
		trials := drive(course, c.value)
		if s := course.Status(); s.Blocks != c.want || len(trials) != 2*c.want || s.Reason == "" {
			t.Errorf("%s: %+v after %d trials", c.name, s, len(trials))
		}
	}
}

// In older results, the block of a void trial was repeated whole.
func TestAVoidTrialOfAnOlderPlanIsRepeatedWithItsBlock(t *testing.T) {
	p := planned(t, ask(func(s *study.Study) { s.Measure.Blocks = 6 }), 3)
	p.Retry = ""
	c := p.Begin()
	numbers := map[int]bool{}
	valid := map[int]int{}
	for trial, ok := c.Next(); ok; trial, ok = c.Next() {
		if numbers[trial.Number] {
			t.Fatalf("trial %d is issued twice", trial.Number)
		}
		numbers[trial.Number] = true
		r := answer(trial, 100)
		if trial.Number == 4 || trial.Number == 7 {
			r.Void = "planted"
		} else {
			valid[trial.Block]++
		}
		c.Done(r)
	}
	complete := 0
	for _, n := range valid {
		if n == 2 {
			complete++
		}
	}
	if s := c.Status(); complete != 6 || s.Blocks != 6 {
		t.Errorf("%d blocks are complete, status %+v", complete, s)
	}
}

func TestAVoidTrialIsRepeatedInItsSlot(t *testing.T) {
	p := planned(t, ask(func(s *study.Study) { s.Measure.Blocks, s.Measure.Retries = 6, 20 }), 3)
	c := p.Begin()
	var issued []string
	for trial, ok := c.Next(); ok && len(issued) < 10; trial, ok = c.Next() {
		issued = append(issued, fmt.Sprintf("%d:%d.%d", trial.Number, trial.Block, trial.Slot))
		r := answer(trial, 100)
		if n := trial.Number; n == 2 || n >= 5 && n <= 7 {
			r.Void = "planted"
		}
		c.Done(r)
	}
	// Three void trials in the second slot end block 2.
	if got, want := strings.Join(issued, " "), "1:1.1 2:1.2 3:1.2 4:2.1 5:2.2 6:2.2 7:2.2 8:3.1 9:3.2 10:4.1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestVoidTrialsRunOutOfRetries(t *testing.T) {
	c := planned(t, ask(nil), 3).Begin()
	n := 0
	for trial, ok := c.Next(); ok; trial, ok = c.Next() {
		n++
		r := answer(trial, 1)
		r.Void = "fio ended with status 1"
		c.Done(r)
	}
	if s := c.Status(); n != 4 || !strings.Contains(s.Reason, "fio ended with status 1") {
		t.Errorf("%d trials, %+v", n, s)
	}
}

func TestResumingAnywhereGoesOnTheSame(t *testing.T) {
	p := planned(t, ask(nil), 77)
	value := func(t Trial) float64 { return 100 + float64((t.Number*31)%7) }
	var records []measure.Record
	whole := p.Begin()
	for trial, ok := whole.Next(); ok; trial, ok = whole.Next() {
		r := answer(trial, value(trial))
		if trial.Number%11 == 0 {
			r.Void = "planted"
		}
		records = append(records, r)
		whole.Done(r)
	}
	for cut := range records {
		c := p.Replay(records[:cut])
		next, ok := c.Next()
		if r := records[cut]; !ok || next.Number != r.Trial || next.Block != r.Block || next.Slot != r.Slot || next.Arm != r.Arm {
			t.Fatalf("after %d records: next is %+v, %v; was %+v", cut, next, ok, r)
		}
	}
	if _, ok := p.Replay(records).Next(); ok {
		t.Error("a course that ended goes on")
	}
}

func TestPrecisionRunsTwoStages(t *testing.T) {
	p := planned(t, ask(func(s *study.Study) { s.Measure.Precision = .01 }), 8)
	r := rand.New(rand.NewPCG(1, 2))
	c := p.Begin()
	trials := drive(c, func(Trial) float64 { return 100 * math.Exp(.02*r.NormFloat64()) })
	s := c.Status()
	if s.Blocks <= pilotBlocks || s.Blocks != s.Target {
		t.Errorf("%+v", s)
	}
	for _, trial := range trials {
		if want := trial.Block <= pilotBlocks; (trial.Phase == PhasePilot) != want {
			t.Errorf("block %d is of phase %s", trial.Block, trial.Phase)
		}
	}
}
