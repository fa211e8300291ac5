package tune

import (
	"context"
	"slices"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/rule"
	"plimsoll/internal/study"
)

// suggested is the change of the first rule that may be tried. Where its setting is a candidate, the candidate's levels
// race for the level: from is then the winner, which takes the place of one step in the rule's direction.
func (l *loop) suggested(ctx context.Context, ended bool) (rec *finding.Recommendation, from *idea, err error) {
	for {
		rec := l.recommended()
		if rec == nil || ended {
			return rec, nil, nil
		}
		name := rec.Change.Factor
		at := slices.IndexFunc(l.Candidates, func(c study.Factor) bool { return c.FullName() == name })
		switch {
		case at < 0 || l.raced[name] && !l.Declared:
			return rec, nil, nil
		case l.raced[name]:
			if !slices.Contains(l.Candidates[at].Levels, rec.Change.To) {
				l.skip(rec.Change, "it is not among the declared candidates")
			}
			l.refused = append(l.refused, rec.Rule)
			continue
		}
		l.raced[name] = true
		c := l.Candidates[at]
		if c.Levels = slices.Clone(c.Levels); !l.Declared && !slices.Contains(c.Levels, rec.Change.To) {
			c.Levels = append(c.Levels, rec.Change.To)
		}
		if err := l.search(ctx, []study.Factor{c}); err != nil {
			return nil, nil, err
		}
		if n := len(l.ideas); n > 0 && l.ideas[n-1].change.Factor == name {
			won := l.ideas[n-1]
			l.ideas = l.ideas[:n-1]
			chosen := *won.recommendation
			chosen.Rule, chosen.Arm = rec.Rule, rec.Arm
			return &chosen, &won, nil
		}
		l.refused = append(l.refused, rec.Rule)
	}
}

// recommended is the change of the first rule that may be tried.
func (l *loop) recommended() *finding.Recommendation {
	for {
		rec := rule.Recommend(l.findings, l.arm, l.refused)
		switch {
		case rec == nil:
			return nil
		case l.forbidden(rec.Change):
			l.skip(rec.Change, unsafeReason)
		case otherLoad(&l.Tune, rec.Change):
			l.skip(rec.Change, "it changes the load, and is not among the declared candidates")
		default:
			return rec
		}
		l.refused = append(l.refused, rec.Rule)
	}
}

// otherLoad reports whether a change is one of the workload in a study that declares candidates without it: who names
// the settings to tune asks how fast they make this load.
func otherLoad(t *Tune, c finding.Change) bool {
	if !t.Declared || len(t.Candidates) == 0 || !strings.HasPrefix(c.Factor, t.Study.Workload.Kind+".") {
		return false
	}
	return !slices.ContainsFunc(t.Candidates, func(one study.Factor) bool { return one.FullName() == c.Factor })
}

const unsafeReason = "unsafe: it can lose data or weaken security; tried with --allow unsafe only"

// forbidden reports whether a change is unsafe and unsafe ones are not allowed.
func (l *loop) forbidden(c finding.Change) bool { return !l.Allow && l.Unsafe != nil && l.Unsafe(c) }

// skip enters a change that is not tried into the log.
func (l *loop) skip(c finding.Change, reason string) {
	if one := (finding.Idea{Factor: c.Factor, Level: c.To, Reason: reason}); !slices.Contains(l.tuning.NotTried, one) {
		l.tuning.NotTried = append(l.tuning.NotTried, one)
	}
}
