package lab

import (
	"encoding/json"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/study"
	"plimsoll/internal/trial"
)

// StudyView is a study in JSON with units as in a study file ("3s"), while study.json has
// nanoseconds.
type StudyView struct {
	*study.Study
	Measure measureView `json:"measure"`
}

// ViewOf returns the view of a study.
func ViewOf(s *study.Study) StudyView {
	m := s.Measure
	warmup := "auto"
	if m.Warmup != study.AutoWarmup {
		warmup = quantity(m.Warmup)
	}
	v := measureView{
		Measure: m, Settle: quantity(m.Settle), Warmup: warmup, Window: quantity(m.Window), Longest: quantity(m.Longest), Interval: quantity(m.Interval),
	}
	if m.Time > 0 {
		v.Time = quantity(m.Time)
	}
	if m.Disk > 0 {
		v.Disk = parameter.Bytes(m.Disk).String()
	}
	return StudyView{Study: s, Measure: v}
}

type measureView struct {
	study.Measure
	Settle   string `json:"settle"`
	Warmup   string `json:"warmup"`
	Window   string `json:"window"`
	Longest  string `json:"longest"`
	Interval string `json:"interval"`
	Time     string `json:"time,omitempty"`
	Disk     string `json:"disk,omitempty"`
}

func quantity(d time.Duration) string { return parameter.Duration(d).String() }

// MarshalJSON writes quantities with units and camel-case keys.
func (p *Preview) MarshalJSON() ([]byte, error) {
	type estimateView struct {
		plan.Estimate
		Time      string `json:"time"`
		LeastTime string `json:"leastTime"`
		Longest   string `json:"longest,omitempty"` // if no load reaches a steady state
	}
	type needsView struct {
		Disk     int64               `json:"diskBytes"`
		Time     string              `json:"preparation"`
		Changes  []string            `json:"changes"`
		Sets     map[string][]string `json:"sets,omitempty"`
		Versions map[string]string   `json:"versions"`
		Space    int64               `json:"freeBytes,omitempty"`
		Host     trial.HostNeeds     `json:"host,omitzero"`
	}
	e, n := p.Estimate, p.Needs
	if n == nil {
		n = &trial.Needs{}
	}
	longest := ""
	if p.Longest > 0 {
		longest = quantity(p.Longest.Round(time.Millisecond))
	}
	return json.Marshal(struct {
		Study    StudyView    `json:"study"`
		Plan     *plan.Plan   `json:"plan"`
		Trials   []plan.Trial `json:"trials"`
		Estimate estimateView `json:"estimate"`
		Budget   plan.Budget  `json:"budget"`
		Needs    needsView    `json:"needs"`
		Virtual  bool         `json:"virtual,omitempty"`
	}{
		ViewOf(p.Study), p.Plan, p.Trials,
		estimateView{e, quantity(e.Time.Round(time.Millisecond)), quantity(e.LeastTime.Round(time.Millisecond)), longest}, p.Budget,
		needsView{n.Disk, quantity(n.Time), n.Changes, n.Sets, n.Versions, n.Space, n.Host}, p.Virtual,
	})
}
