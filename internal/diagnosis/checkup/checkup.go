// Package checkup checks hosts: it watches each of them, judges what was seen by the rules of
// diagnosis, and puts the findings of all into one order.
package checkup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/diagnosis/rule"
	"plimsoll/internal/hoststat/watch"
)

// Target is a host to check.
type Target struct {
	Name  string // as the user named it; empty for this host
	Watch func(ctx context.Context, job watch.Job) (*watch.Answer, error)
}

// Host is what was found on one host.
type Host struct {
	Format    int                  `json:"format"`
	Host      string               `json:"host"`
	Seconds   float64              `json:"seconds"`
	Samples   int                  `json:"samples"`
	Findings  []diagnosis.Finding  `json:"findings"`
	NotJudged []diagnosis.Unjudged `json:"notJudged"`

	root  bool
	about string // processors and kernel
}

// Finding is what was found on one of several hosts.
type Finding struct {
	Host string `json:"host"`
	diagnosis.Finding
}

// Report is what was found on several hosts.
type Report struct {
	Format   int       `json:"format"`
	Hosts    []Summary `json:"hosts"`
	Findings []Finding `json:"findings"` // in the order in which to act on them

	all []*Host
}

// Summary is one of several hosts.
type Summary struct {
	Host      string               `json:"host"`
	Seconds   float64              `json:"seconds"`
	Samples   int                  `json:"samples"`
	NotJudged []diagnosis.Unjudged `json:"notJudged,omitempty"`
	Error     string               `json:"error,omitempty"`
}

// Run checks hosts at the same time. The error joins those of hosts that could not be checked;
// the report has the others. It is nil if there are none.
func Run(ctx context.Context, targets []Target, job watch.Job) (*Report, error) {
	hosts, errs := make([]*Host, len(targets)), make([]error, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() {
			answer, err := t.Watch(ctx, job)
			if err != nil {
				errs[i] = err
				return
			}
			hosts[i] = judge(t.Name, answer)
		})
	}
	all.Wait()
	r := &Report{Format: 1, Findings: []Finding{}}
	for i, h := range hosts {
		if h == nil {
			r.Hosts = append(r.Hosts, Summary{Host: targets[i].Name, Error: errs[i].Error()})
			continue
		}
		r.all = append(r.all, h)
		r.Hosts = append(r.Hosts, Summary{Host: h.Host, Seconds: h.Seconds, Samples: h.Samples, NotJudged: h.NotJudged})
		for _, f := range h.Findings {
			r.Findings = append(r.Findings, Finding{h.Host, f})
		}
	}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return compare(&a.Finding, &b.Finding) })
	return r, joined(errs)
}

// compare orders findings of several hosts as Judge orders those of one.
func compare(a, b *diagnosis.Finding) int {
	rank := map[diagnosis.Confidence]int{diagnosis.Certain: 0, diagnosis.Likely: 1, diagnosis.Possible: 2}
	return cmp.Or(
		cmp.Compare(min(1, len(a.Cause)), min(1, len(b.Cause))),
		cmp.Compare(rank[a.Confidence], rank[b.Confidence]),
		cmp.Compare(b.Impact, a.Impact),
	)
}

// joined is one error, or several in a line each.
func joined(errs []error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	text := make([]string, len(errs))
	for i, err := range errs {
		text[i] = err.Error()
	}
	return fmt.Errorf("%d hosts were not checked:\n  %s%w", len(errs), strings.Join(text, "\n  "), empty{errs})
}

// empty wraps errors without a text of its own.
type empty struct{ errs []error }

func (empty) Error() string     { return "" }
func (e empty) Unwrap() []error { return e.errs }

// Single is the report of the one host that was checked; nil if there are several.
func (r *Report) Single() *Host {
	if len(r.Hosts) == 1 && len(r.all) == 1 {
		return r.all[0]
	}
	return nil
}

func judge(name string, a *watch.Answer) *Host {
	facts := a.Recording.Facts
	h := &Host{Format: 1, Host: cmp.Or(name, facts.Host), Seconds: a.Recording.Mean.Seconds, Samples: len(a.Recording.Intervals), root: a.Root}
	online := 0
	for _, c := range facts.CPUs {
		if c.Online {
			online++
		}
	}
	h.about = fmt.Sprintf("%d CPUs, Linux %s", online, facts.Kernel)
	e := &diagnosis.Evidence{Recording: *a.Recording, Focus: a.Focus, Own: a.Own}
	h.Findings, h.NotJudged = diagnosis.Judge(e, rule.All())
	if h.Findings == nil {
		h.Findings = []diagnosis.Finding{}
	}
	if h.NotJudged == nil {
		h.NotJudged = []diagnosis.Unjudged{}
	}
	for i := range h.NotJudged {
		if n := &h.NotJudged[i]; !a.Root && strings.Contains(n.Reason, "permission denied") {
			n.Reason += "; run it as root"
		}
	}
	return h
}
