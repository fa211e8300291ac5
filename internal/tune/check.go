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
// and the rest is checked again: two that do the same work must not both go. again reports that another level of one that
// was taken back promises a gain, in place of the round, which tried nothing.
func (l *loop) together(ctx context.Context, round int) (again bool, err error) {
	steps := 0
	for _, r := range l.tuning.Rounds {
		if r.Outcome == finding.Kept {
			steps++
		}
	}
	if steps < 2 { // its verification compared the change with the settings before
		return false, nil
	}
	var dropped []string
	for len(l.tuning.Final) > 0 && !maps.Equal(l.tuning.Final, l.checked) {
		if l.spent() {
			l.tuning.NotTried = append(l.tuning.NotTried, finding.Idea{Factor: "interaction check", Reason: "the time budget is spent"})
			return false, nil
		}
		check, err := l.interplay(ctx)
		if err != nil {
			return false, fmt.Errorf("interaction check: %w", err)
		}
		if check == nil {
			return false, nil
		}
		l.tuning.Checks = append(l.tuning.Checks, *check)
		if check.Dropped == "" {
			l.checked = maps.Clone(l.tuning.Final)
			break
		}
		l.takeBack(check.Dropped)
		dropped = append(dropped, check.Dropped)
	}
	return l.otherLevels(ctx, dropped, round)
}

// otherLevels lets the levels of settings that were taken back race again: a lower one may still help beside the other
// changes.
func (l *loop) otherLevels(ctx context.Context, dropped []string, round int) (promising bool, err error) {
	if len(dropped) == 0 || l.ended(round) != "" {
		return false, nil
	}
	candidates := slices.DeleteFunc(slices.Clone(l.Candidates), func(c study.Factor) bool { return !slices.Contains(dropped, c.FullName()) })
	l.ideas = nil
	if err := l.search(ctx, candidates); err != nil || len(l.ideas) == 0 {
		return false, err
	}
	if last := len(l.tuning.Rounds) - 1; l.tuning.Rounds[last].Outcome == finding.NoRuleFired {
		l.tuning.Rounds = l.tuning.Rounds[:last]
	}
	return true, nil
}

// interplay measures the changes together and each taken back. It is nil if too few blocks could be measured.
func (l *loop) interplay(ctx context.Context) (*finding.Interplay, error) {
	factors := slices.Sorted(maps.Keys(l.tuning.Final))
	l.checks++
	check := &finding.Interplay{Measured: fmt.Sprintf("check-%d", l.checks), Seed: l.nextSeed()}
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
	check.Together = contribution(l.Study.Goal, f, 1, "")
	for i, name := range factors {
		if len(factors) > 1 {
			check.Alone = append(check.Alone, contribution(l.Study.Goal, f, i+2, name))
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
		// its arm without the change has the settings from now on
		l.findings, l.arm, l.folder, l.seed = f, without(factors, check.Dropped), check.Measured, check.Seed
	}
	return check, nil
}

// contribution is the gain of the first arm over another, which lacks a change or all of them.
func contribution(goal *study.Goal, f *finding.Findings, arm int, factor string) finding.Contribution {
	e := compare.Effect(f, goal.Metric, arm, 2*(1-family))
	gain, low := -e.Mean, -e.High
	if goal.Direction == measure.LowerIsBetter {
		gain, low = e.Mean, e.Low
	}
	degraded := func(c finding.Comparison) bool {
		return c.Metric.Name == goal.Metric && c.Arm == arm && c.Degraded
	}
	if slices.ContainsFunc(f.Headlines, degraded) { // that is no gain
		low = min(low, 0)
	}
	return finding.Contribution{Factor: factor, Gain: leastGain(gain, goal.Direction), Bound: leastGain(low, goal.Direction)}
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

// without is the arm of a check in which only this factor is taken back.
func without(factors []string, dropped string) int {
	if len(factors) == 1 {
		return 1
	}
	return 2 + slices.Index(factors, dropped)
}

// takeBack returns a setting to its level before the tuning.
func (l *loop) takeBack(factor string) {
	former := finding.Change{Factor: factor, From: l.tuning.Final[factor], To: l.tuning.Start[factor]}
	l.takenBack = append(l.takenBack, finding.Change{Factor: factor, From: former.To, To: former.From})
	l.base = l.settled(former)
	delete(l.tuning.Final, factor)
	for i := range l.tuning.Rounds {
		if r := &l.tuning.Rounds[i]; r.Outcome == finding.Kept && r.Recommendation.Change.Factor == factor {
			r.Outcome, r.Reason = finding.TakenBack, r.Reason+"; it no longer helps beside the other changes"
			if r.Recommendation.Rule != searchRule {
				l.refused = append(l.refused, r.Recommendation.Rule)
			}
		}
	}
	l.tell(Event{Round: len(l.tuning.Rounds), Stage: TakenBack, Change: &former, Reason: "it no longer helps beside the other changes"})
}
