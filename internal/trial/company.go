package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/drive"
	"plimsoll/internal/trial/machines"
)

// gatherCounters takes over what was sampled on each machine. The counters of the record are
// the mean of the machines that the study is about.
func (a *attempt) gatherCounters() {
	if a.sim != nil || len(a.crew) == 0 || a.crew[0].Sampler == nil {
		return
	}
	sums, counts := map[string]float64{}, map[string]float64{}
	for _, m := range a.crew {
		file := "counters.csv"
		if m.Name != "" && m != a.crew.Lead() {
			file = "counters-" + m.Name + ".csv"
		}
		a.files[file] = m.Sampler.Table()
		if !m.Group.Subject {
			continue
		}
		for _, missing := range m.Sampler.Missing {
			if !slices.Contains(a.record.Missing, missing) {
				a.record.Missing = append(a.record.Missing, missing)
			}
		}
		a.enterSeldom(m.Sampler.Seldom(a.record.Window))
		for name, v := range m.Sampler.Over(a.record.Window) {
			sums[name], counts[name] = sums[name]+v, counts[name]+1
		}
	}
	for name, sum := range sums {
		a.record.Counters[name] = sum / counts[name]
	}
}

// enterSeldom enters that the counters of a machine were read too seldom in the window.
func (a *attempt) enterSeldom(names []string, times int) {
	if len(names) == 0 {
		return
	}
	said := readings(times) + " in the window, which is too seldom"
	if line := "counters: " + said; !slices.Contains(a.record.Missing, line) {
		a.record.Missing = append(a.record.Missing, line)
	}
	if a.seldom == nil {
		a.seldom = map[string]string{}
	}
	for _, name := range names {
		a.seldom[name] = said
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

// divide enters what each of several machines did, and how they shared what there was.
func (a *attempt) divide() error {
	if a.sim != nil {
		return nil
	}
	if !a.crew.Several() {
		a.divideServers()
		return nil
	}
	var rates []float64
	for _, m := range a.crew {
		p := measure.Part{Machine: m.Name, Group: m.Group.Name, Workload: m.Kind.Name, Rate: m.Kind.Rate, Counters: m.Sampler.Over(a.record.Window), Missing: m.Sampler.Missing}
		if m.Drives() && !(m.Group.Subject && a.searches()) {
			if err := a.sum(m, &p); err != nil {
				return err
			}
			if m.Group.Subject {
				rates = append(rates, p.Values[m.Kind.Rate])
			}
		}
		a.record.Parts = append(a.record.Parts, p)
	}
	if len(rates) > 0 {
		a.record.Values[study.Fairness], a.record.Values[study.Least] = fairness(rates)
	}
	return a.divideCompany()
}

// sum adds up what one machine did.
func (a *attempt) sum(m *machines.Member, p *measure.Part) error {
	s, err := measure.Summarise(m.Recorder.Intervals(), a.record.Window, m.Kind.Rate)
	if err != nil {
		return fmt.Errorf("%s: %w", drive.Title(m), err)
	}
	p.Values, p.Counts, p.Checks = s.Values, s.Counts, m.Recorder.Checks()
	maps.Copy(p.Values, m.Recorder.Values())
	return nil
}

// divideCompany enters what the groups beside the subject did, under their names.
func (a *attempt) divideCompany() error {
	groups := map[string]machines.Set{}
	for _, m := range a.crew.Background() {
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
		s, err := measure.Summarise(out.Intervals(), a.record.Window, members[0].Kind.Rate)
		if err != nil {
			return fmt.Errorf("group %s: %w", name, err)
		}
		for metric, v := range s.Values {
			a.record.Values[name+"."+metric] = v
		}
		for what, n := range s.Counts {
			a.record.Counts[name+"."+what] = n
		}
		a.observeCompany(name, members)
	}
	return nil
}

// observeCompany enters the settings that a group saw in effect, and warns of checks that failed.
func (a *attempt) observeCompany(group string, members machines.Set) {
	for _, m := range members {
		for setting, level := range m.Recorder.Observed() {
			a.record.Observed[group+"."+setting] = level
		}
	}
	for _, c := range drive.Worst(members) {
		if c.Kind == measure.KindData && c.State == measure.Fail {
			c.Name = group + ", " + c.Name
			a.lost = append(a.lost, c)
		} else if c.State == measure.Fail {
			a.record.Warnings = append(a.record.Warnings, strings.TrimSpace(fmt.Sprintf("group %s, %s: %s", group, c.Name, c.Detail)))
		}
	}
}
