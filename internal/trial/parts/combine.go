package parts

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/trial/drive"
	"plimsoll/internal/trial/machines"
)

// combined is what the machines of a trial did over its window.
type combined struct {
	machines  machines.Set
	summaries []*measure.Summary
}

func (c *combined) add(m *machines.Member, s *measure.Summary) {
	c.machines, c.summaries = append(c.machines, m), append(c.summaries, s)
}

// combine records the work of all groups with the workload of the subject together, where there are others than the subject.
func (t *Parts) combine(c combined) error {
	if Searches(t.Study) {
		return nil
	}
	var like []*measure.Summary
	others := false
	for i, m := range c.machines {
		if m.Kind.Name != t.Kind.Name {
			continue
		}
		if err := t.covers(m); err != nil {
			return err
		}
		like, others = append(like, c.summaries[i]), others || !m.Group.Subject
	}
	if !others {
		return nil
	}
	whole := measure.Combine(like, t.Kind.Rate)
	for metric, v := range whole.Values {
		t.Record.Values[measure.All+metric] = v
	}
	for what, n := range whole.Counts {
		t.Record.Counts[measure.All+what] = n
	}
	return nil
}

// covers makes sure that a machine ran its load until the end of the window: the rate over a part of it is not that over all of it.
func (t *Parts) covers(m *machines.Member) error {
	const most = 2 // intervals, as for the end of the subject's load; those of its program may be longer than the study's
	all := m.Recorder.Intervals()
	if len(all) == 0 {
		return fmt.Errorf("%s: it measured nothing", drive.Title(m))
	}
	last, end := all[len(all)-1], t.Record.Window.End
	if grace := most * max(t.Study.Measure.Interval, last.To-last.From).Seconds(); last.To.Seconds() < end-grace {
		return fmt.Errorf("%s: it ended after %.3g s, and the window after %.3g s", drive.Title(m), last.To.Seconds(), end)
	}
	return nil
}

// Deciding is why the work of groups beside the subject does not count, where a metric of theirs decides the study: failed operations, or a failed
// check of their workload; empty for no reason.
func (t *Parts) Deciding() (cause string) {
	for _, m := range t.ArmGroups.Background() {
		if !t.decides(m) {
			continue
		}
		failed := int64(0)
		for _, in := range m.Recorder.Intervals() {
			for _, s := range in.Samples {
				failed += s.Errors
			}
		}
		if failed > 0 && !m.Group.LimitsErrors() {
			return fmt.Sprintf("%s: %d failed operations, warm-up included", drive.Title(m), failed)
		}
		for _, c := range m.Recorder.Checks() {
			if c.State == measure.Fail {
				return fmt.Sprintf("%s: %s: %s", drive.Title(m), c.Name, c.Detail)
			}
		}
	}
	return ""
}

// decides reports whether a headline or the goal of the study is a metric of a machine's group, or of all groups together.
func (t *Parts) decides(m *machines.Member) bool {
	names := t.Study.Headline
	if t.Study.Goal != nil {
		names = append(slices.Clip(names), t.Study.Goal.Metric)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.HasPrefix(name, m.Group.Name+".") || m.Kind.Name == t.Kind.Name && strings.HasPrefix(name, measure.All)
	})
}
