package tune

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
	"plimsoll/internal/study"
)

// together checks the changes that were kept for interactions, on fresh blocks: all of them against the settings before
// the tuning, and each taken back alone. Where one no longer helps beside the others, the least of these is taken back,
// and the rest is checked again: two that do the same work must not both go.
func (l *loop) together(ctx context.Context) error {
	steps := 0
	for _, r := range l.tuning.Rounds {
		if r.Outcome == finding.Kept {
			steps++
		}
	}
	if steps < 2 { // its verification compared the change with the settings before
		return nil
	}
	for number := 1; len(l.tuning.Final) > 0; number++ {
		if l.spent() {
			l.tuning.NotTried = append(l.tuning.NotTried, finding.Idea{Factor: "interaction check", Reason: "the time budget is spent"})
			return nil
		}
		check, err := l.interplay(ctx, number)
		if err != nil {
			return fmt.Errorf("interaction check: %w", err)
		}
		if check == nil {
			return nil
		}
		l.tuning.Checks = append(l.tuning.Checks, *check)
		if check.Dropped == "" {
			return nil
		}
		l.takeBack(check.Dropped)
	}
	return nil
}

// interplay measures the changes together and each taken back. It is nil if too few blocks could be measured.
func (l *loop) interplay(ctx context.Context, number int) (*finding.Interplay, error) {
	factors := slices.Sorted(maps.Keys(l.tuning.Final))
	check := &finding.Interplay{Measured: fmt.Sprintf("check-%d", number), Seed: l.nextSeed()}
	l.tell(Event{Round: len(l.tuning.Rounds), Stage: Checking})
	s := l.combined(factors)
	f, err := l.Measure(ctx, s, check.Seed, filepath.Join(l.Dir, check.Measured))
	if f == nil || ctx.Err() != nil {
		return nil, err
	}
	if check.Blocks = f.Blocks; f.Blocks < stat.LeastBlocksAt(2*(1-family)) {
		arm, cause := obstacle(f)
		reason := tooFew(f.Blocks, stat.LeastBlocksAt(2*(1-family)), 0)
		if arm >= 0 {
			reason += "; the last void trial: " + cause
		}
		l.tuning.NotTried = append(l.tuning.NotTried, finding.Idea{Factor: "interaction check", Reason: reason})
		return nil, nil
	}
	check.Together = l.contribution(f, 1, "")
	for i, name := range factors {
		if len(factors) > 1 {
			check.Alone = append(check.Alone, l.contribution(f, i+2, name))
		}
	}
	worst := check.Together
	for _, one := range check.Alone {
		if !one.Confirmed() && (worst.Factor == "" || one.Gain < worst.Gain) {
			worst = one
		}
	}
	if len(factors) == 1 {
		worst.Factor = factors[0]
	}
	if !worst.Confirmed() {
		check.Dropped = worst.Factor
	}
	return check, nil
}

// contribution is the gain of the first arm over another, which lacks a change or all of them.
func (l *loop) contribution(f *finding.Findings, arm int, factor string) finding.Contribution {
	e := compare.Effect(f, l.Study.Goal.Metric, arm, 2*(1-family))
	gain, low := -e.Mean, -e.High
	if l.Study.Goal.Direction == measure.LowerIsBetter {
		gain, low = e.Mean, e.Low
	}
	return finding.Contribution{Factor: factor, Gain: leastGain(gain, l.Study.Goal.Direction), Bound: leastGain(low, l.Study.Goal.Direction)}
}

// combined has the changes together as its first arm, the settings before as its second, and for several changes an arm
// without each.
func (l *loop) combined(factors []string) *study.Study {
	p := copied(l.base)
	all, before := map[string]string{}, map[string]string{}
	for _, f := range p.Factors {
		all[f.FullName()], before[f.FullName()] = f.Levels[0], f.Levels[0]
	}
	for _, name := range factors {
		all[name], before[name] = l.tuning.Final[name], l.tuning.Start[name]
		vary(p, l.factor(name), all[name], before[name])
	}
	p.Combinations = []map[string]string{all, before}
	for _, name := range factors {
		if len(factors) > 1 {
			arm := maps.Clone(all)
			arm[name] = before[name]
			p.Combinations = append(p.Combinations, arm)
		}
	}
	p.Measure.Blocks, p.Measure.Looks = l.Looks[0], nil
	p.Question = "Do the changes help together to " + goalText(l.Study.Goal) + ", and each beside the others?"
	return p
}

// takeBack returns a setting to its level before the tuning.
func (l *loop) takeBack(factor string) {
	former := finding.Change{Factor: factor, From: l.tuning.Final[factor], To: l.tuning.Start[factor]}
	l.base = l.settled(former)
	delete(l.tuning.Final, factor)
	for i := range l.tuning.Rounds {
		if r := &l.tuning.Rounds[i]; r.Outcome == finding.Kept && r.Recommendation.Change.Factor == factor {
			r.Outcome, r.Reason = finding.TakenBack, r.Reason+"; it no longer helps beside the other changes"
		}
	}
	l.tell(Event{Round: len(l.tuning.Rounds), Stage: TakenBack, Change: &former, Reason: "it no longer helps beside the other changes"})
}
