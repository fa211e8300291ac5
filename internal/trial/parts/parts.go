// Package parts records the contribution of each machine of a trial: its counters, its
// share of the work, and that of other groups.
package parts

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/measure"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/drive"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/workload"
)

// Parts records the contribution of each machine of a trial.
type Parts struct {
	Study     *study.Study
	Kind      workload.Kind // of the subject
	ArmGroups machines.Set
	Record    *measure.Record
	Whole     *measure.Recorder // of the whole subject
	Seldom    map[string]string // counters read too seldom in the window, with the number of reads
	Events    []trace.Event     // that the study made happen
	Served    []trace.Event     // what the service did, on its machine
	Lost      []measure.Check   // failed checks of data, of probes and of the groups beside the subject
}

// Searches reports whether a trial offers many loads, of which none is its result.
func Searches(s *study.Study) bool {
	_, yes := s.Load.Sought()
	return yes
}

// Counters takes over the samples of each machine. The counters of the record are the mean of
// the machines of the subject.
func (t *Parts) Counters(files map[string][]byte) {
	if len(t.ArmGroups) == 0 || t.ArmGroups[0].Sampler == nil {
		return
	}
	sums, counts := map[string]float64{}, map[string]float64{}
	for _, m := range t.ArmGroups {
		of, beside := "", ""
		if m.Name != "" && m != t.ArmGroups.Lead() {
			of, beside = m.Name, "-"+m.Name
		}
		files["counters"+beside+".csv"] = m.Sampler.Table()
		events := t.Events
		if m == t.ArmGroups.Server() {
			events = slices.Concat(events, t.Served)
		}
		if text := m.Sampler.Host(t.Record.Window, events); text != nil {
			files[machines.StateFile(of)] = text
		}
		if !m.Group.Subject {
			continue
		}
		for _, missing := range m.Sampler.Missing {
			if !slices.Contains(t.Record.Missing, missing) {
				t.Record.Missing = append(t.Record.Missing, missing)
			}
		}
		t.enterSeldom(m.Sampler.Seldom(t.Record.Window))
		for name, v := range m.Sampler.Over(t.Record.Window) {
			sums[name], counts[name] = sums[name]+v, counts[name]+1
		}
	}
	for name, sum := range sums {
		t.Record.Counters[name] = sum / counts[name]
	}
}

// enterSeldom records that the counters of a machine were read too seldom in the window.
func (t *Parts) enterSeldom(names []string, times int) {
	if len(names) == 0 {
		return
	}
	said := readings(times) + " in the window, which is too seldom"
	if line := "counters: " + said; !slices.Contains(t.Record.Missing, line) {
		t.Record.Missing = append(t.Record.Missing, line)
	}
	if t.Seldom == nil {
		t.Seldom = map[string]string{}
	}
	for _, name := range names {
		t.Seldom[name] = said
	}
}

func readings(times int) string {
	switch times {
	case 0:
		return "not read"
	case 1:
		return "read once"
	}
	return fmt.Sprintf("read %d times", times)
}

// Divide records the work of each of several machines, and how evenly they shared it. Their response times go into files.
func (t *Parts) Divide(files map[string][]byte) error {
	if !t.ArmGroups.Several() {
		t.divideServers()
		return nil
	}
	if t.Study.Load.Growth.Tiles() { // no load is the result, and the machines of each are others
		return nil
	}
	var rates []float64
	var together combined
	for _, m := range t.ArmGroups {
		p := measure.Part{Machine: m.Name, Group: m.Group.Name, Workload: m.Kind.Name, Rate: m.Kind.Rate, Counters: m.Sampler.Over(t.Record.Window), Missing: m.Sampler.Missing}
		if m.Drives() && !(m.Group.Subject && Searches(t.Study)) {
			s, err := t.sum(m, &p, files)
			if err != nil {
				return err
			}
			together.add(m, s)
			if m.Group.Subject {
				rates = append(rates, p.Values[m.Kind.Rate])
			}
		}
		t.Record.Parts = append(t.Record.Parts, p)
	}
	if len(rates) > 0 {
		t.Record.Values[measure.Fairness], t.Record.Values[measure.Least] = fairness(rates)
	}
	if err := t.combine(together); err != nil {
		return err
	}
	return t.divideBackground()
}

// sum adds up the work of one machine.
func (t *Parts) sum(m *machines.Member, p *measure.Part, files map[string][]byte) (*measure.Summary, error) {
	intervals, window := m.Recorder.Intervals(), t.Record.Window
	if m.Group.Subject {
		intervals, window = t.share(intervals)
	}
	s, err := measure.Summarise(intervals, window, m.Kind.Rate)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", drive.Title(m), err)
	}
	files[measure.LatencyFile(m.Name)] = measure.EncodeHistograms(s.Log(), window)
	p.Values, p.Counts, p.Checks = maps.Clone(s.Values), s.Counts, m.Recorder.Checks()
	maps.Copy(p.Values, m.Recorder.Values())
	return s, nil
}

// share is the part that a machine of the subject has in the window: its intervals with the numbers of those of the whole. By their times, which differ a little
// from machine to machine, the first or the last would be missing, and the machines would not add up to the whole.
func (t *Parts) share(intervals []measure.Interval) (held []measure.Interval, window measure.Window) {
	for i, in := range t.Whole.Intervals() {
		if t.Record.Window.Holds(&in) && i < len(intervals) {
			held = append(held, intervals[i])
		}
	}
	if len(held) == 0 {
		return intervals, t.Record.Window
	}
	return held, measure.Window{Cut: held[0].From.Seconds(), End: held[len(held)-1].To.Seconds()}
}

// divideBackground records the work of the other groups, under their names.
func (t *Parts) divideBackground() error {
	groups := map[string]machines.Set{}
	for _, m := range t.ArmGroups.Background() {
		groups[m.Group.Name] = append(groups[m.Group.Name], m)
	}
	for name, members := range groups {
		out := measure.NewRecorder(nil)
		whole := measure.NewMerger(len(members), out)
		for i, m := range members {
			for _, in := range m.Recorder.Intervals() {
				whole.Take(i, in)
			}
		}
		s, err := measure.Summarise(out.Intervals(), t.Record.Window, members[0].Kind.Rate)
		if err != nil {
			return fmt.Errorf("group %s: %w", name, err)
		}
		for metric, v := range s.Values {
			t.Record.Values[name+"."+metric] = v
		}
		for what, n := range s.Counts {
			t.Record.Counts[name+"."+what] = n
		}
		t.observeBackground(name, members)
	}
	return nil
}

// observeBackground records the settings that a group saw in effect, and warns of failed checks.
func (t *Parts) observeBackground(group string, members machines.Set) {
	for _, m := range members {
		for setting, level := range m.Recorder.Observed() {
			t.Record.Observed[group+"."+setting] = level
		}
	}
	for _, c := range drive.Worst(members) {
		if c.Kind == measure.KindData && c.State == measure.Fail {
			c.Name = group + ", " + c.Name
			t.Lost = append(t.Lost, c)
		} else if c.State == measure.Fail {
			t.Record.Warnings = append(t.Record.Warnings, strings.TrimSpace(fmt.Sprintf("group %s, %s: %s", group, c.Name, c.Detail)))
		}
	}
}

// divideServers records the work of each of several servers of a service over the window, and
// how evenly they shared the load. One that is alone in its arm got all of it.
func (t *Parts) divideServers() {
	if Searches(t.Study) || !t.Study.Servers() {
		return
	}
	rates := serverRates(t.Whole.Intervals(), t.Record.Window)
	if len(rates) == 0 {
		rates = []float64{t.Record.Values[t.Kind.Rate]}
	}
	for i, rate := range rates {
		t.Record.Parts = append(t.Record.Parts, measure.Part{
			Machine: fmt.Sprintf("server %d", i+1), Workload: t.Kind.Name, Rate: t.Kind.Rate, Values: map[string]float64{t.Kind.Rate: rate},
		})
	}
	t.Record.Values[measure.Fairness], t.Record.Values[measure.Least] = fairness(rates)
}

// serverRates are the operations per second of each server; nil where there is one.
func serverRates(intervals []measure.Interval, window measure.Window) []float64 {
	var rates []float64
	seconds := 0.
	for i := range intervals {
		in := &intervals[i]
		if !window.Holds(in) {
			continue
		}
		seconds += (in.To - in.From).Seconds()
		for server, n := range in.Shares {
			if server == len(rates) {
				rates = append(rates, 0)
			}
			rates[server] += float64(n)
		}
	}
	for i := range rates {
		rates[i] /= seconds
	}
	return rates
}

// fairness checks how evenly the machines of a group shared the load.
func fairness(rates []float64) (index, least float64) {
	least = math.Inf(1)
	for _, r := range rates {
		least = min(least, r)
	}
	return measure.Jain(rates), least
}

// Counted records how many machines there are, where that is varied.
func (t *Parts) Counted() {
	for _, f := range t.Study.Factors {
		if f.Name != study.MachinesFactor {
			continue
		}
		n := 0
		for _, m := range t.ArmGroups {
			if m.Group.Name == f.Target {
				n++
			}
		}
		t.Record.Observed[f.FullName()] = strconv.Itoa(n)
	}
}

// Ran is how long the load lasted: where several machines made it, until the first of them
// ended. Their sum lacks the later work of the others.
func (t *Parts) Ran() time.Duration {
	ran := time.Duration(math.MaxInt64)
	last := func(r *measure.Recorder) {
		if all := r.Intervals(); len(all) > 0 {
			ran = min(ran, all[len(all)-1].To)
		}
	}
	if !t.ArmGroups.Several() || t.ArmGroups.Lead().Recorder == nil { // in virtual time no machine records
		last(t.Whole)
		return ran
	}
	for _, m := range t.ArmGroups.Subject() {
		last(m.Recorder)
	}
	return ran
}
