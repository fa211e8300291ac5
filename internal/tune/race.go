package tune

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/compare"
	"plimsoll/internal/finding/judge"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
)

// A race has stages of two blocks each, three at most. Simulations chose these numbers and the rule by
// which a level leaves it: docs/decisions/026-race-of-levels.md.
const (
	stageBlocks = 2
	mostStages  = 3
	mostLevels  = 63 // in a race, beside the present settings: the arms of a block
)

// Trials estimates the fewest and the most trials of a tuning of a study with so many candidate levels: with one change that the first look
// decides, and with all changes at their last looks.
func Trials(s *study.Study, levels int) (least, most int) {
	looks, changes := looksOf(s), mostRounds
	if s.Tune != nil && s.Tune.Changes > 0 {
		changes = s.Tune.Changes
	}
	least, most = leastBlocks+2*looks[0], leastBlocks+changes*2*looks[len(looks)-1]+(changes+2)*looks[0]
	if levels > 0 { // each change that is kept may let the levels race again
		least, most = least+stageBlocks*(levels+1), most+(changes+1)*mostStages*stageBlocks*(levels+1)
	}
	return least, most
}

// runner is a level in the race.
type runner struct {
	study.Factor
	from, level string
	gains       []float64 // log-ratio to the present settings in each block, positive for better
	out         string    // why it left the race; empty while it is in it
}

func (r *runner) mean() float64 {
	sum := 0.
	for _, g := range r.gains {
		sum += g
	}
	return sum / float64(len(r.gains))
}

// race is a search among the candidates: each level is one arm, with the present settings in each block.
type race struct {
	of      *loop
	runners []*runner
	search  finding.Search
}

// search races candidates and queues the best level of each setting, the most promising first.
func (l *loop) search(ctx context.Context, candidates []study.Factor) error {
	r := &race{of: l}
	for _, c := range candidates {
		r.enter(c)
	}
	r.refuse(ctx, r.runners)
	if len(r.runners) == 0 {
		return nil
	}
	for range mostStages {
		in := r.in()
		if len(in) == 0 || r.decided(in) {
			break
		}
		if err := r.stage(ctx); err != nil {
			return err
		}
	}
	r.queue()
	return nil
}

// enter adds the levels of a candidate that differ from the present one and may be tried.
func (r *race) enter(c study.Factor) {
	from := r.of.level(c)
	for _, level := range c.Levels {
		change := finding.Change{Factor: c.FullName(), From: from, To: level}
		switch {
		case level == from || r.failed(change):
			continue
		case r.of.forbidden(change):
			r.of.skip(change, unsafeReason)
		case len(r.runners) == mostLevels:
			r.of.skip(change, fmt.Sprintf("more than %d levels", mostLevels))
		default:
			r.runners = append(r.runners, &runner{Factor: c, from: from, level: level})
		}
	}
	if !slices.ContainsFunc(c.Levels, func(level string) bool { return level != c.Levels[0] }) {
		r.of.skip(finding.Change{Factor: c.FullName()}, "its only candidate is the present level, "+c.Levels[0])
	}
}

// level is the present level of a candidate.
func (l *loop) level(c study.Factor) string {
	if kept, ok := l.tuning.Final[c.FullName()]; ok {
		return kept
	}
	return c.Levels[0]
}

// failed reports whether fresh blocks did not confirm a change, with the present settings.
func (r *race) failed(c finding.Change) bool {
	if slices.Contains(r.of.takenBack, c) {
		return true
	}
	for _, round := range slices.Backward(r.of.tuning.Rounds) {
		switch {
		case round.Outcome == finding.Kept:
			return false
		case round.Outcome == finding.RolledBack && round.Recommendation != nil && round.Recommendation.Change == c:
			return true
		}
	}
	return false
}

func (r *race) in() []*runner {
	return slices.DeleteFunc(slices.Clone(r.runners), func(one *runner) bool { return one.out != "" })
}

// stage measures the levels in the race for two more blocks. A level that cannot run leaves the race, and
// the others are measured again.
func (r *race) stage(ctx context.Context) error {
	for {
		in := r.in()
		if len(in) == 0 {
			return nil
		}
		r.of.searches++
		folder := fmt.Sprintf("search-%d", r.of.searches)
		r.of.tell(Event{Round: len(r.of.tuning.Rounds) + 1, Stage: Searching, Reason: fmt.Sprintf("%d candidate levels", len(in))})
		r.of.searchSeed = r.of.nextSeed()
		f, err := r.of.Measure(ctx, r.study(in), r.of.searchSeed, filepath.Join(r.of.Dir, folder))
		if f == nil || ctx.Err() != nil {
			return fmt.Errorf("search among candidates: %w", cmp.Or(err, ctx.Err()))
		}
		r.search.Measured, r.of.searchFolder = append(r.search.Measured, folder), folder
		if f.Blocks > 0 {
			r.take(f, in)
			return nil
		}
		arm, cause := obstacle(f)
		if arm <= 0 || arm > len(in) {
			return fmt.Errorf("search among candidates: the present settings could not be measured: %s", cmp.Or(cause, errorText(err)))
		}
		in[arm-1].out = "could not be measured: " + cause
	}
}

// refuse lets the levels leave the race that are refused before they are measured, such as one that does not go together with a change that was kept.
func (r *race) refuse(ctx context.Context, in []*runner) {
	for _, one := range in {
		if cause := refusal(ctx, r.of.Possible, r.study([]*runner{one})); cause != "" {
			one.out = "could not be measured: " + cause
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return "no block was completed"
	}
	return err.Error()
}

// obstacle is the arm of the last void trial, with its cause; -1 without one.
func obstacle(f *finding.Findings) (arm int, cause string) {
	if len(f.Void) == 0 {
		return -1, ""
	}
	last := f.Void[len(f.Void)-1]
	return last.Arm, firstLine(last.Cause)
}

// voidOf is the cause of the last void trial of an arm; empty without one.
func voidOf(f *finding.Findings, arm int) (cause string) {
	for _, v := range f.Void {
		if v.Arm == arm {
			cause = firstLine(v.Cause)
		}
	}
	return cause
}

// firstLine shortens a cause, of which the run's own report has all.
func firstLine(cause string) string {
	line, _, _ := strings.Cut(cause, "\n")
	return line
}

// study has an arm for each level, and first the present settings.
func (r *race) study(in []*runner) *study.Study {
	p := copied(r.of.base)
	present := map[string]string{}
	for _, f := range p.Factors {
		present[f.FullName()] = f.Levels[0]
	}
	levels := map[string][]string{}
	var order []study.Factor
	for _, one := range in {
		name := one.FullName()
		if levels[name] == nil {
			levels[name], present[name] = []string{one.from}, one.from
			order = append(order, one.Factor)
		}
		levels[name] = append(levels[name], one.level)
	}
	for _, f := range order {
		vary(p, f, levels[f.FullName()]...)
	}
	p.Combinations = []map[string]string{present}
	for _, one := range in {
		arm := maps.Clone(present)
		arm[one.FullName()] = one.level
		p.Combinations = append(p.Combinations, arm)
	}
	p.Measure.Blocks, p.Measure.Looks = stageBlocks, nil
	p.Question = fmt.Sprintf("Which of %d candidate levels promises most to %s?", len(in), goalText(r.of.Study.Goal))
	return p
}

// take adds the blocks of a stage to the levels, and drops those that leave the race.
func (r *race) take(f *finding.Findings, in []*runner) {
	goal := r.of.Study.Goal
	base := f.Summary(goal.Metric, 0)
	for i, one := range in {
		other := f.Summary(goal.Metric, i+1)
		if cause := voidOf(f, i+1); (other == nil || len(other.Values) == 0) && cause != "" {
			one.out = "could not be measured: " + cause
			continue
		}
		if base == nil || other == nil || !compare.Positive(base.Values) || !compare.Positive(other.Values) {
			one.out = "no value of " + goal.Metric
			continue
		}
		blocks, _ := compare.PairedBlocks(base, other)
		for _, b := range blocks {
			gain := b.Arm - b.Base
			if goal.Direction == measure.LowerIsBetter {
				gain = -gain
			}
			one.gains = append(one.gains, gain)
		}
		for _, limit := range judge.Limits(goal.Floor, f.Summaries, i+1) {
			if limit.State == measure.Fail {
				one.out = "violates the floor " + limit.Limit
			}
		}
	}
	r.drop()
}

// drop lets the levels leave the race that are clearly below the best of their setting, or clearly bring less than half
// the margin. Clearly is one standard error, pooled over all levels, since fresh blocks decide.
func (r *race) drop() {
	best := map[string]*runner{}
	for _, one := range r.in() {
		if b := best[one.FullName()]; b == nil || one.mean() > b.mean() {
			best[one.FullName()] = one
		}
	}
	for _, one := range r.in() {
		least, most := one.mean()-r.deviation(one), one.mean()+r.deviation(one)
		switch b := best[one.FullName()]; {
		case most < r.worth():
			one.out = "no gain"
			if least > -r.worth() && most < r.worth() {
				one.out = "no difference"
			}
		case b != one && most < b.mean():
			one.out = "less than " + b.level
		}
	}
}

// worth is the smallest gain that is pursued: half the margin of the study.
func (r *race) worth() float64 { return math.Log1p(r.of.Study.Margin) / 2 }

// deviation is the standard error of the mean of a level, by the variance pooled over all levels.
func (r *race) deviation(of *runner) float64 {
	sum, freedom := 0., 0
	for _, one := range r.runners {
		if len(one.gains) < 2 {
			continue
		}
		mean := one.mean()
		for _, g := range one.gains {
			sum += (g - mean) * (g - mean)
		}
		freedom += len(one.gains) - 1
	}
	if freedom == 0 || len(of.gains) == 0 {
		return 0
	}
	return math.Sqrt(sum / float64(freedom) / float64(len(of.gains)))
}

// decided reports whether one level of each setting is left, and all of them clearly gain.
func (r *race) decided(in []*runner) bool {
	seen := map[string]bool{}
	for _, one := range in {
		if seen[one.FullName()] || len(one.gains) == 0 || one.mean()-r.deviation(one) <= 0 {
			return false
		}
		seen[one.FullName()] = true
	}
	return true
}

// queue queues the best level of each setting, and enters the race into the log.
func (r *race) queue() {
	in := slices.DeleteFunc(r.in(), func(one *runner) bool { return len(one.gains) == 0 })
	slices.SortStableFunc(in, func(a, b *runner) int { return cmp.Compare(b.mean(), a.mean()) })
	for n, one := range in {
		name := one.FullName()
		switch {
		case slices.ContainsFunc(in[:n], func(other *runner) bool { return other.FullName() == name }):
			one.out = "less than another level"
		case one.mean() < r.worth():
			one.out = "no gain"
		default:
			one.out = "suggested"
			r.of.ideas = append(r.of.ideas, r.idea(one))
		}
	}
	for _, one := range r.runners {
		s := finding.Searched{Factor: one.FullName(), From: one.from, Level: one.level, Blocks: len(one.gains), Outcome: one.out}
		if s.Blocks > 0 {
			s.Gain, s.Error = leastGain(one.mean(), r.of.Study.Goal.Direction), r.deviation(one)
		}
		r.search.Levels = append(r.search.Levels, s)
	}
	r.of.tuning.Searches = append(r.of.tuning.Searches, r.search)
}

// idea is the change to a level, with the gain that the race lets expect.
func (r *race) idea(one *runner) idea {
	low, high := one.mean()-2*r.deviation(one), one.mean()+2*r.deviation(one)
	if r.of.Study.Goal.Direction == measure.LowerIsBetter {
		low, high = -high, -low
	}
	c := finding.Change{Factor: one.FullName(), From: one.from, To: one.level}
	rec := &finding.Recommendation{Rule: searchRule, Change: c, Predicted: &finding.Gain{Low: math.Expm1(low), High: math.Expm1(high), Basis: "race of levels"}}
	rec.Sentence.Text = fmt.Sprintf("Change %s from %s to %s. Only fresh blocks can confirm it.", c.Factor, c.From, c.To)
	return idea{factor: one.Factor, change: c, recommendation: rec, folder: r.of.searchFolder, seed: r.of.searchSeed}
}

// searchRule stands for the rule of a change that a race suggests.
const searchRule = "candidate_level"

// idea is a change that a race suggests, with the run that suggested it.
type idea struct {
	factor         study.Factor
	change         finding.Change
	recommendation *finding.Recommendation
	folder         string
	seed           uint64
}
