package lab

import (
	"slices"
	"time"

	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial"
)

// BuiltIn is a study that comes with plimsoll.
type BuiltIn struct {
	Study    string   `json:"study"`
	Platform string   `json:"platform"`
	Workload string   `json:"workload"`
	Question string   `json:"question"`
	Time     string   `json:"time"`    // estimate if the last look decides; without preparation
	Least    string   `json:"least"`   // estimate if the first look decides
	Needs    []string `json:"needs"`   // what must be installed or set up
	Virtual  bool     `json:"virtual"` // the time is simulated: the run takes seconds
}

// BuiltIns describes the built-in studies.
func (l *Lab) BuiltIns() ([]BuiltIn, error) {
	var all []BuiltIn
	for _, name := range Names() {
		source, err := l.Read(name, nil)
		if err != nil {
			return nil, err
		}
		s := source.Study
		p, err := plan.New(s, 1)
		if err != nil {
			return nil, err
		}
		e := p.Estimate(trial.Length(s))
		all = append(all, BuiltIn{
			Study: name, Platform: s.Platform.Kind, Workload: s.Workload.Kind, Question: s.Question,
			Time: quantity(e.Time.Round(time.Second)), Least: quantity(e.LeastTime.Round(time.Second)), Needs: needsOf(l.Catalog, s), Virtual: virtual(l.Catalog, s.Platform.Kind),
		})
	}
	return all, nil
}

// virtual reports whether a platform simulates time.
func virtual(c *study.Catalog, kind string) bool {
	return slices.ContainsFunc(c.Platforms, func(k platform.Kind) bool { return k.Name == kind && k.Virtual })
}

// needsOf lists what must be installed or set up for a study: its platform, workloads and
// service.
func needsOf(c *study.Catalog, s *study.Study) []string {
	needs := []string{}
	add := func(text string) {
		if text != "" && !slices.Contains(needs, text) {
			needs = append(needs, text)
		}
	}
	workloads := []string{s.Workload.Kind}
	for _, g := range s.Groups {
		if g.Workload != nil {
			workloads = append(workloads, g.Workload.Kind)
		}
	}
	for _, k := range c.Platforms {
		if k.Name == s.Platform.Kind {
			add(k.Needs)
		}
	}
	for _, k := range c.Workloads {
		if slices.Contains(workloads, k.Name) {
			add(k.Needs)
		}
	}
	if s.Service != nil {
		add(c.Service(s.Service.Kind).Needs)
	}
	for _, g := range s.Groups {
		if g.Service != nil {
			add(c.Service(g.Service.Kind).Needs)
		}
	}
	for _, f := range s.Factors {
		if known := c.Factor(f.Name); known != nil && known.Root && s.Platform.Kind == "local" {
			add("root")
		}
	}
	return needs
}
