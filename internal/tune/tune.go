// Package tune is the closed loop: measure, let the rules name one change, try it on
// fresh blocks with a new seed, keep it or roll it back, until no rule fires. Then
// candidate levels race with few trials, and the most promising are tried in the same way.
// At the end the changes that were kept are checked together; the other levels of one that
// is taken back race again.
//
// What comes in is a study with a goal, and a way to run a study; what goes out is
// the story, round by round. The package touches no machine and judges nothing
// itself. The one thing that may surprise: a change is kept only when fresh blocks
// show that it helps. One that merely does no harm is rolled back.
package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/judge"
	"plimsoll/internal/finding/wording"
	"plimsoll/internal/measure"
	"plimsoll/internal/stat"
	"plimsoll/internal/study"
)

// Tune is a study to tune, with its callbacks.
type Tune struct {
	Study  *study.Study // with a goal; the first level of each factor is the initial one
	Seed   uint64
	Dir    string        // results folder, with a subfolder per run
	Blocks int           // of the first measurement, which only feeds the rules; 0 is 3
	Looks  []int         // of a verification; nil for those of the study, or its fixed number of blocks
	Rounds int           // maximum number of changes; 0 is 5
	Time   time.Duration // no further change is tried afterwards; 0 is unlimited
	Now    func() time.Time

	// Candidates are settings to search after the rules; the first level of each is the present one.
	Candidates []study.Factor
	// Declared says that the study names the candidates: of their settings no other level is tried.
	Declared bool
	// Unsafe reports whether a change can lose data or weaken security; nil: none can.
	Unsafe func(finding.Change) bool
	Allow  bool // unsafe changes are tried too
	// NotTried are ideas that were ruled out before.
	NotTried []finding.Idea

	// Measure runs the study in the folder and judges it, with every rule.
	Measure func(ctx context.Context, s *study.Study, seed uint64, dir string) (*finding.Findings, error)
	// Possible reports why a study cannot run, without running it; nil where Measure alone tells.
	Possible func(ctx context.Context, s *study.Study) error
	// Progress is called with the next step; nil for none.
	Progress func(Event)
}

// Event is a step of the tuning.
type Event struct {
	Round  int // from 1
	Stage  Stage
	Change *finding.Change // that is tried; nil while measuring
	Reason string          // why a change was kept or rolled back, or the tuning ended
}

// Stage is a step of the tuning.
type Stage string

// The steps.
const (
	Measuring  Stage = "measuring"
	Searching  Stage = "searching"
	Verifying  Stage = "verifying"
	Kept       Stage = "kept"
	RolledBack Stage = "rolled back"
	Checking   Stage = "checking interactions"
	TakenBack  Stage = "taken back"
	Ended      Stage = "ended"
)

const (
	leastBlocks = 3 // of the first measurement
	mostRounds  = 5
)

// Once a bottleneck is gone, other settings matter: all candidates race again after changes that gain so much together, and
// at once after one that gains so much alone. Simulations chose these numbers: docs/decisions/026-race-of-levels.md.
const (
	muchTogether = 0.2
	muchAlone    = 0.5
)

// defaultLooks are those of an ordinary study.
var defaultLooks = []int{9, 13, 18, 24}

// loop is the state between rounds.
type loop struct {
	Tune
	base     *study.Study // settings kept so far; factors have one level each
	findings *finding.Findings
	arm      int    // index of the arm of the findings with the current settings
	folder   string // of the findings
	seed     uint64 // of the findings
	runs     uint64
	refused  []string
	tuning   *finding.Tuning
	until    time.Time

	checks       int               // runs of interaction checks
	checked      map[string]string // final levels of the last one
	takenBack    []finding.Change  // not to be tried until another change is kept
	searched     bool              // all candidates
	gained       float64           // logarithm of what was kept since that race
	raced        map[string]bool   // settings whose levels raced because a rule named them
	ideas        []idea
	searches     int    // runs of races
	searchFolder string // of the last one
	searchSeed   uint64
}

// Run tunes. It returns the rounds so far together with any error. A study without a goal is a
// mistake.
func Run(ctx context.Context, t Tune) (*finding.Tuning, error) {
	l, err := begin(t)
	if err != nil {
		return nil, err
	}
	defer wording.Tell(l.tuning)
	if err := l.measure(ctx); err != nil {
		l.tuning.End = "The first measurement failed"
		return l.tuning, err
	}
	for round := 1; ; round++ {
		done, err := l.round(ctx, round)
		if err != nil {
			l.tuning.End = stopped(ctx)
			return l.tuning, fmt.Errorf("tune, round %d: %w", round, err)
		}
		if !done {
			continue
		}
		again, err := l.together(ctx, round)
		if err != nil {
			l.tuning.End = stopped(ctx)
			return l.tuning, err
		}
		if !again {
			l.tell(Event{Round: round, Stage: Ended, Reason: l.tuning.End})
			return l.tuning, nil
		}
		round-- // it tried nothing
	}
}

// stopped is the end of a tuning that an error stopped.
func stopped(ctx context.Context) string {
	if ctx.Err() != nil {
		return "Tuning was interrupted"
	}
	return "An error stopped tuning"
}

func begin(t Tune) (*loop, error) {
	s := t.Study
	if s.Goal == nil {
		return nil, errors.New("tune needs a goal: add one to the study, such as goal: {most: iops}")
	}
	if s.Goal.Direction == measure.Neutral {
		return nil, fmt.Errorf("tune needs a goal with a direction: write most: %[1]s or least: %[1]s", s.Goal.Metric)
	}
	if t.Blocks == 0 {
		t.Blocks = leastBlocks
	}
	if t.Rounds == 0 {
		t.Rounds = mostRounds
	}
	if t.Now == nil {
		t.Now = time.Now
	}
	if t.Looks == nil {
		t.Looks = looksOf(s)
	}
	l := &loop{Tune: t, base: present(s), raced: map[string]bool{}}
	l.tuning = &finding.Tuning{Goal: goalText(s.Goal), Final: map[string]string{}, Start: map[string]string{}, NotTried: t.NotTried}
	if t.Time > 0 {
		l.until = t.Now().Add(t.Time)
	}
	return l, nil
}

// looksOf are the looks of a verification. A fixed number of blocks is one look.
func looksOf(s *study.Study) []int {
	switch {
	case s.Measure.Blocks >= stat.LeastBlocks:
		return []int{s.Measure.Blocks}
	case len(s.Measure.Looks) > 0:
		return s.Measure.Looks
	}
	return defaultLooks
}

// measure measures the current settings.
func (l *loop) measure(ctx context.Context) error {
	s := *l.base
	s.Measure.Blocks = l.Blocks
	l.tell(Event{Round: 1, Stage: Measuring})
	l.folder, l.seed = "measure", l.nextSeed()
	f, err := l.Measure(ctx, &s, l.seed, filepath.Join(l.Dir, l.folder))
	if err != nil {
		return fmt.Errorf("measure the present settings: %w", err)
	}
	if sum := f.Summary(l.Study.Goal.Metric, 0); sum == nil || len(sum.Values) == 0 {
		_, cause := obstacle(f)
		return fmt.Errorf("the present settings give no value of %s: %s", l.Study.Goal.Metric, cmp.Or(cause, "lengthen measure.window, or take another metric as the goal"))
	}
	for _, limit := range judge.Limits(l.Study.Goal.Floor, f.Summaries, 0) {
		if limit.State == measure.Fail {
			l.tuning.Violated = append(l.tuning.Violated, limit)
			l.tell(Event{Round: 1, Stage: Measuring, Reason: "the present settings violate the floor " + limit.Limit})
		}
	}
	l.findings, l.arm = f, 0
	return nil
}

// round tries one change. done reports that the tuning has ended.
func (l *loop) round(ctx context.Context, number int) (done bool, err error) {
	r := finding.Round{Measured: l.folder, MeasuredSeed: l.seed}
	ended := l.ended(number)
	rec, from, err := l.suggested(ctx, ended != "")
	if err != nil {
		return false, err
	}
	if from != nil {
		r.Measured, r.MeasuredSeed = from.folder, from.seed
	}
	l.ideas = slices.DeleteFunc(l.ideas, func(i idea) bool { return l.level(i.factor) != i.change.From })
	due := len(l.Candidates) > 0 && len(l.ideas) == 0 && (!l.searched || l.gained >= math.Log1p(muchTogether))
	if rec == nil && ended == "" && due {
		l.searched, l.gained, due = true, 0, false
		if err := l.search(ctx, l.Candidates); err != nil {
			return false, err
		}
	}
	if rec == nil && len(l.ideas) > 0 {
		rec, r.Measured, r.MeasuredSeed = l.ideas[0].recommendation, l.ideas[0].folder, l.ideas[0].seed
	}
	switch {
	case rec == nil && !due:
		r.Outcome = finding.NoRuleFired
		l.tuning.Rounds = append(l.tuning.Rounds, r)
		l.tuning.End = l.exhausted()
		return true, nil
	case ended != "":
		l.tuning.End = ended
		return true, nil
	}
	if rec.Rule == searchRule {
		l.ideas = l.ideas[1:]
	}
	r.Recommendation = rec
	err = l.verify(ctx, number, &r)
	if r.Outcome != "" {
		l.tuning.Rounds = append(l.tuning.Rounds, r)
	}
	return false, err
}

// ended is why no further change may be tried; empty if one may.
func (l *loop) ended(number int) string {
	switch {
	case number > l.Rounds:
		return "The round limit was reached; further tuning may help"
	case l.spent():
		return "The time budget is spent; further tuning may help"
	}
	return ""
}

func (l *loop) spent() bool { return !l.until.IsZero() && !l.Now().Before(l.until) }

// exhausted is why there is no other change to try.
func (l *loop) exhausted() string {
	end := "No rule asks for another change"
	if len(l.refused) > 0 {
		end = "No other rule asks for a change"
	}
	if len(l.Candidates) > 0 {
		end += ", and no other candidate promises a gain"
	}
	return end
}

// verify tries the change of the round on fresh blocks, and keeps it or rolls it
// back.
func (l *loop) verify(ctx context.Context, number int, r *finding.Round) error {
	change := r.Recommendation.Change
	s := l.trying(change)
	r.Verified, r.Seed = fmt.Sprintf("verify-%d", number), l.nextSeed()
	l.tell(Event{Round: number, Stage: Verifying, Change: &change})
	f, err := l.Measure(ctx, s, r.Seed, filepath.Join(l.Dir, r.Verified))
	cause := impossible(f)
	if cause == "" && err != nil && ctx.Err() == nil {
		cause = refusal(ctx, l.Possible, s)
	}
	switch {
	case cause != "" && ctx.Err() == nil:
		r.Outcome, r.Reason = finding.RolledBack, "it could not be measured: "+cause
	case err != nil:
		return fmt.Errorf("verify %s %s -> %s: %w", change.Factor, change.From, change.To, err)
	default:
		l.decide(f, r)
	}
	if r.Outcome == finding.Kept {
		l.base = l.settled(change)
		if _, again := l.tuning.Final[change.Factor]; !again {
			l.tuning.Start[change.Factor] = change.From
		}
		l.tuning.Final[change.Factor], l.takenBack = change.To, nil
		// The second arm had the current settings, in blocks that did not suggest the next
		// change: the rules need no new measurement.
		l.findings, l.arm, l.folder, l.seed = f, 1, r.Verified, r.Seed
		gain := math.Abs(math.Log(r.Verification.Ratio))
		if l.gained += gain; gain >= math.Log1p(muchAlone) {
			l.ideas = nil // something else limits now
		}
		l.tell(Event{Round: number, Stage: Kept, Change: &change, Reason: r.Reason})
		return nil
	}
	if r.Recommendation.Rule != searchRule {
		l.refused = append(l.refused, r.Recommendation.Rule)
	}
	l.tell(Event{Round: number, Stage: RolledBack, Change: &change, Reason: r.Reason})
	return nil
}

// refusal is why a change is refused before it is measured, where the present settings are not; empty otherwise.
func refusal(ctx context.Context, possible func(context.Context, *study.Study) error, changed *study.Study) string {
	if possible == nil {
		return ""
	}
	err := possible(ctx, changed)
	present := copied(changed)
	for i := range present.Factors {
		present.Factors[i].Levels = present.Factors[i].Levels[:1]
	}
	present.Combinations = nil
	if err == nil || possible(ctx, present) != nil {
		return ""
	}
	return firstLine(err.Error())
}

// impossible is why the changed settings cannot run at all, such as the service's own reason not to start;
// empty if they can.
func impossible(f *finding.Findings) string {
	if f == nil || f.Blocks > 0 {
		return ""
	}
	if arm, cause := obstacle(f); arm == 1 {
		return cause
	}
	return ""
}

func (l *loop) tell(e Event) {
	if l.Progress != nil {
		l.Progress(e)
	}
}

// nextSeed derives a seed for each run, so that no two runs share their random
// choices. Source: SplitMix64, Steele, Lea & Flood (2014).
func (l *loop) nextSeed() uint64 {
	l.runs++
	v := l.Seed + l.runs*0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	// short enough to type
	return (v ^ v>>31) & math.MaxUint32
}
