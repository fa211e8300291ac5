package plan

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/study"
)

func TestBudgetSentences(t *testing.T) {
	for _, c := range []struct {
		name     string
		change   func(*study.Study)
		cv       float64
		perTrial time.Duration
		blocks   int
		short    bool
		want     string
	}{
		{"no budget", nil, 0, 10 * time.Second, 24, false, "Up to 24 blocks tell, with 80 % power, an effect from the margin of 2 % if it is at least 3 % where trials vary by 1 % from run to run, 4 % where by 2 %, 7.2 % where by 5 %."},
		{"time for a verdict", func(s *study.Study) { s.Measure.Time = 3 * time.Minute }, 0, 10 * time.Second, 9, false, "Up to 9 blocks tell, with 80 % power"},
		{"no time for a verdict", func(s *study.Study) { s.Measure.Time = time.Minute }, 0, 10 * time.Second, 3, true,
			"The time budget of 1m0s allows 3 blocks of 2 trials, and a verdict takes at least 9: allow at least 3m0s (--set measure.time=3m0s), or plan 6 blocks without looks in 2m0s (--set measure.blocks=6 --set measure.time=2m0s), or make each trial 6.7s shorter (measure.window, measure.warmup)."},
		{"no time for the blocks asked for", func(s *study.Study) { s.Measure.Blocks, s.Measure.Time = 9, 2*time.Minute }, 0, 10 * time.Second, 6, true, "the study asks for at least 9"},
		{"no time for the pilot", func(s *study.Study) { s.Measure.Precision, s.Measure.Time = .01, 2*time.Minute }, 0, 10 * time.Second, 6, true, "the pilot takes at least 8"},
		{"few blocks, as asked", func(s *study.Study) { s.Measure.Blocks = 4 }, 0, time.Second, 4, false, "4 blocks: numbers and no verdict, which takes at least 6."},
		{"quiet", nil, .005, time.Second, 24, false, "Up to 24 blocks tell"},
		{"too noisy for the margin", nil, .10, time.Second, 24, true, "Trials vary by 10 % from run to run: a margin of 2 % takes about 523 blocks, and the budget allows 24, in which one of 10 % is within reach."},
		{"one arm", func(s *study.Study) { s.Factors = nil }, 0, time.Second, 6, false, "One arm in 6 blocks"},
		{"precision", func(s *study.Study) { s.Measure.Precision = .01 }, 0, time.Second, 1000, false, "A pilot of 8 blocks tells how many give ±1 %"},
		{"no time for anything", func(s *study.Study) { s.Measure.Time = time.Second }, 0, time.Minute, 0, true, "allows 0 blocks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := planned(t, ask(c.change), 1).Budget(c.cv, c.perTrial)
			if b.Blocks != c.blocks || b.Short != c.short || !strings.Contains(b.Sentence, c.want) {
				t.Errorf("%+v", b)
			}
			if _, err := json.Marshal(b); err != nil {
				t.Error(err)
			}
		})
	}
}

// The table of blocks needed is the one of the method, for a single test.
func TestBudgetTable(t *testing.T) {
	want := map[float64][]int{.01: {19, 7, 4, 4, 3}, .02: {67, 19, 6, 4, 4}, .05: {400, 103, 20, 7, 5}, .10: {1589, 404, 69, 20, 8}}
	for _, row := range planned(t, ask(nil), 1).Budget(0, time.Second).Table {
		for i, n := range want[row.CV] {
			if got := row.Effects[i].Blocks; got != n {
				t.Errorf("CV %g, effect %g: %d blocks, want %d", row.CV, row.Effects[i].Effect, got, n)
			}
		}
		for i := 1; i < len(row.Looks); i++ {
			if row.Looks[i].Detectable >= row.Looks[i-1].Detectable {
				t.Errorf("CV %g: more blocks do not show less: %+v", row.CV, row.Looks)
			}
		}
		if len(row.Looks) != 4 || row.Detectable != row.Looks[3].Detectable {
			t.Errorf("CV %g: %+v", row.CV, row)
		}
	}
}

// More headlines and arms share the error, so that less can be seen.
func TestBudgetSharesTheError(t *testing.T) {
	one := planned(t, ask(nil), 1).Budget(.02, time.Second).Table[0].Detectable
	more := planned(t, ask(func(s *study.Study) {
		s.Headline = []string{"iops", "p99"}
		s.Factors[0].Levels = []string{"1", "2", "3"}
	}), 1).Budget(.02, time.Second).Table[0].Detectable
	if one >= more {
		t.Errorf("one comparison shows %g, four show %g", one, more)
	}
}

// What the refusal advises is accepted, and a second less is not.
func TestBudgetAdviceIsEnough(t *testing.T) {
	for _, c := range []struct {
		change func(*study.Study)
		enough time.Duration
	}{
		{func(*study.Study) {}, 9 * 20 * time.Second},
		{func(s *study.Study) { s.Measure.Blocks = 6 }, 6 * 20 * time.Second},
		{func(s *study.Study) { s.Measure.Precision = .01 }, 8 * 20 * time.Second},
	} {
		for _, less := range []time.Duration{0, time.Second} {
			b := planned(t, ask(func(s *study.Study) { c.change(s); s.Measure.Time = c.enough - less }), 1).Budget(0, 10*time.Second)
			if advised := "--set measure.time=" + c.enough.String() + ")"; b.Short != (less > 0) || less > 0 && !strings.Contains(b.Sentence, advised) {
				t.Errorf("%s less: %+v", less, b)
			}
		}
	}
}
