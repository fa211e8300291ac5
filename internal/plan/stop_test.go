package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
	"plimsoll/internal/study"
)

// run drives a course with records made by the function.
func run(c *Progress, record func(Trial) measure.Record) Status {
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		c.Done(record(t))
	}
	return c.Status()
}

func two(t Trial, iops, p99 float64) measure.Record {
	r := answer(t, iops)
	r.Values["p99"] = p99
	return r
}

func TestEveryHeadlineMustBeDecided(t *testing.T) {
	p := planned(t, ask(func(s *study.Study) { s.Headline = []string{"iops", "p99"} }), 3)
	noise := rand.New(rand.NewPCG(1, 1))
	s := run(p.Begin(), func(t Trial) measure.Record {
		return two(t, 100*math.Pow(1.5, float64(t.Arm))*math.Exp(.01*noise.NormFloat64()), math.Exp(.3*noise.NormFloat64()))
	})
	if s.Blocks != 24 || s.Decided || !s.Decisions[0].Decided || s.Decisions[0].Answer != stat.Above || s.Decisions[1].Decided {
		t.Errorf("%+v", s)
	}
	if s.Reason != "24 blocks, the last planned look, and not every headline is decided" || s.Short {
		t.Errorf("reason %q", s.Reason)
	}
}

// Studies of two equal arms that stop when decided call a difference in at most
// 5 %, and a planted 5 % is called beyond the margin of 2 %, with its sign.
func TestErrorRatesOfStopping(t *testing.T) {
	const studies = 500
	rate := func(effect float64) (answers map[stat.Answer]int, blocks float64) {
		answers = map[stat.Answer]int{}
		for seed := range uint64(studies) {
			noise := rand.New(rand.NewPCG(seed, 5))
			s := run(planned(t, ask(nil), seed).Begin(), func(t Trial) measure.Record {
				return answer(t, math.Exp(effect*float64(t.Arm)+.02*noise.NormFloat64()))
			})
			answers[s.Decisions[0].Answer]++
			blocks += float64(s.Blocks) / studies
		}
		return answers, blocks
	}
	none, _ := rate(0)
	if differ := studies - none[stat.Equivalent] - none[stat.Undecided]; differ > studies*8/100 {
		t.Errorf("equal arms differ in %d of %d: %v", differ, studies, none)
	}
	if some, blocks := rate(math.Log(1.05)); some[stat.Above] < studies*98/100 || blocks > 13 {
		t.Errorf("+5 %% is above the margin in %d of %d, after %.1f blocks on average: %v", some[stat.Above], studies, blocks, some)
	}
}

// A difference whose size is open does not stop a study: the next look may decide.
func TestDifferentIsNoReasonToStop(t *testing.T) {
	p := planned(t, ask(nil), 3)
	open := 0
	for seed := range uint64(60) {
		noise := rand.New(rand.NewPCG(seed, 5))
		c := p.Begin()
		for trial, ok := c.Next(); ok; trial, ok = c.Next() {
			c.Done(answer(trial, math.Exp(.04*float64(trial.Arm)+.02*noise.NormFloat64())))
			s := c.Status()
			if s.Decisions == nil || s.Decisions[0].Answer != stat.DifferentUp {
				continue
			}
			open++
			if ended := s.Reason != ""; ended != (s.Blocks == 24) || s.Decided {
				t.Fatalf("seed %d: different, size open, after %d blocks: %+v", seed, s.Blocks, s)
			}
		}
	}
	if open < 20 {
		t.Errorf("different, size open, at %d looks: the test does not bite", open)
	}
}

func TestValuesThatHaveNoLogarithm(t *testing.T) {
	p := planned(t, ask(func(s *study.Study) { s.Headline = []string{"iops", "errors", "p99.9"} }), 3)
	for _, c := range []struct {
		name   string
		errors func(t Trial) float64
		p999   bool
		blocks int
	}{
		{"0 throughout holds nothing up", func(Trial) float64 { return 0 }, true, 9},
		{"0 now and then cannot be decided", func(t Trial) float64 { return float64(t.Block % 2) }, true, 24},
		{"a metric that is missing cannot be decided", func(Trial) float64 { return 0 }, false, 24},
	} {
		s := run(p.Begin(), func(t Trial) measure.Record {
			r := answer(t, 100*math.Pow(2, float64(t.Arm))+float64(t.Block%3)/100)
			r.Values["errors"] = c.errors(t)
			if c.p999 {
				r.Values["p99.9"] = 1 + float64((t.Block*7+t.Arm)%5)/10000
			}
			return r
		})
		if s.Blocks != c.blocks || s.Decided != (c.blocks == 9) {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

func TestFewBlocksDecideNothing(t *testing.T) {
	p := planned(t, ask(func(s *study.Study) { s.Measure.Looks = []int{3, 5} }), 3)
	s := run(p.Begin(), func(t Trial) measure.Record { return answer(t, 100*math.Pow(2, float64(t.Arm))+float64(t.Block)) })
	if s.Blocks != 5 || s.Decided || s.Decisions[0].Answer != stat.Undecided {
		t.Errorf("%+v", s)
	}
}

func TestPrecision(t *testing.T) {
	ofMean := func(s *study.Study) { s.Factors, s.Measure.Precision = nil, .01 }
	for _, c := range []struct {
		name   string
		change func(*study.Study)
		cv     float64
		blocks int // 0: more than the pilot
		short  bool
		reason string
	}{
		{"quiet", func(s *study.Study) { s.Measure.Precision = .01 }, .0001, 8, false, "the pilot of 8 blocks gives an interval of ±1 %, as was asked for"},
		{"noisy", func(s *study.Study) { s.Measure.Precision = .01 }, .02, 0, false, "give an interval of ±1 %, as was asked for"},
		{"mean of one arm", ofMean, .02, 0, false, "give an interval of ±1 %"},
		{"out of reach", ofMean, 3, 8, true, "more than 1000: ask for less precision, or lengthen the window"},
		{"0 throughout", func(s *study.Study) { ofMean(s); s.Headline = []string{"iops", "errors"} }, .0001, 8, false, "the pilot of 8 blocks gives"},
		{"missing", func(s *study.Study) { ofMean(s); s.Headline = []string{"iops", "p99.9"} }, .001, 8, true, "p99.9 was missing or 0 in some trial"},
	} {
		noise := rand.New(rand.NewPCG(1, 2))
		s := run(planned(t, ask(c.change), 8).Begin(), func(t Trial) measure.Record {
			r := answer(t, 100*math.Exp(c.cv*noise.NormFloat64()))
			r.Values["errors"] = 0
			return r
		})
		if s.Short != c.short || !strings.Contains(s.Reason, c.reason) || c.blocks > 0 && s.Blocks != c.blocks || c.blocks == 0 && (s.Blocks <= 8 || s.Blocks != s.Target) {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
}

func TestARecordOfAnotherPlanEndsTheCourse(t *testing.T) {
	p := planned(t, ask(nil), 3)
	c := p.Begin()
	first, _ := c.Next()
	r := answer(first, 1)
	r.Arm = 1 - r.Arm
	c.Done(r)
	if _, more := c.Next(); more || !c.Status().Short || !strings.Contains(c.Status().Reason, "is not of the trial that was planned") {
		t.Errorf("%+v", c.Status())
	}
}

func TestStatusCountsWhatIsLeft(t *testing.T) {
	p := planned(t, ask(nil), 3)
	c := p.Begin()
	noise := rand.New(rand.NewPCG(4, 4))
	var trials []int
	var status []Status
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		status = append(status, c.Status())
		r := answer(t, math.Exp(.5*noise.NormFloat64()))
		if t.Number == 5 {
			r.Void = "planted"
		}
		trials = append(trials, t.Number)
		c.Done(r)
	}
	if len(trials) != 48+1 && len(trials) != 48+2 {
		t.Fatalf("%d trials", len(trials))
	}
	if s := status[0]; s.AtLeast != 18 || s.AtMost != 48 || s.Target != 24 {
		t.Errorf("at the start: %+v", s)
	}
	if s := status[1]; s.AtLeast != 17 || s.AtMost != 47 || s.Trials != 1 {
		t.Errorf("after one: %+v", s)
	}
	if s := status[len(status)-1]; s.AtLeast != 1 || s.AtMost != 1 || s.Void != 1 {
		t.Errorf("before the last: %+v", s)
	}
	if s := c.Status(); s.AtMost != 0 || s.Void != 1 || s.Trials != len(trials) {
		t.Errorf("at the end: %+v", s)
	}
	for i := 1; i < len(status); i++ {
		if status[i].AtMost > status[i-1].AtMost+1 || status[i].AtLeast > status[i].AtMost {
			t.Errorf("trial %d: %+v after %+v", i, status[i], status[i-1])
		}
	}
	if !slices.IsSorted(trials) {
		t.Error("trials are out of order")
	}
}
