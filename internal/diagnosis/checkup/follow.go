package checkup

import (
	"context"
	"fmt"
	"slices"
	"time"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/hoststat/watch"
)

// Change is a finding that appeared or is gone since the last check of a host, or a check that
// failed.
type Change struct {
	Time    string             `json:"time"`   // as in RFC 3339
	Change  string             `json:"change"` // appeared, gone, failed
	Host    string             `json:"host"`
	Finding *diagnosis.Finding `json:"finding,omitempty"`
	Error   string             `json:"error,omitempty"`
}

// Follow checks hosts repeatedly until the context ends, and tells what changed. It returns
// the findings of the last check.
func Follow(ctx context.Context, targets []Target, job watch.Job, tell func(Change) error) (last []Finding, err error) {
	for ctx.Err() == nil {
		r, failed := Run(ctx, targets, job)
		if ctx.Err() != nil {
			break
		}
		now := time.Now().Format(time.RFC3339)
		for _, c := range r.changes(last) {
			c.Time = now
			if err := tell(c); err != nil {
				return last, err
			}
		}
		last = r.carry(last)
		if failed != nil { // at once: a machine that refuses must not be asked without a pause
			select {
			case <-time.After(job.Length):
			case <-ctx.Done():
			}
		}
	}
	return last, nil
}

// checked reports whether a host was checked.
func (r *Report) checked(host string) bool {
	return slices.ContainsFunc(r.all, func(h *Host) bool { return h.Host == host })
}

// carry are the findings of this report, and those of an earlier one on hosts that could not be
// checked now.
func (r *Report) carry(before []Finding) []Finding {
	all := slices.Clone(r.Findings)
	for _, f := range before {
		if !r.checked(f.Host) {
			all = append(all, f)
		}
	}
	return all
}

// changes are what this report has and earlier findings have not, and the other way round.
func (r *Report) changes(before []Finding) (all []Change) {
	has := func(findings []Finding, f *Finding) bool {
		return slices.ContainsFunc(findings, func(x Finding) bool {
			return x.Host == f.Host && x.Rule == f.Rule && x.Subject == f.Subject
		})
	}
	for _, s := range r.Hosts {
		if s.Error != "" {
			all = append(all, Change{Change: "failed", Host: s.Host, Error: s.Error})
		}
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; !has(before, f) {
			all = append(all, Change{Change: "appeared", Host: f.Host, Finding: &f.Finding})
		}
	}
	for i := range before {
		if f := &before[i]; r.checked(f.Host) && !has(r.Findings, f) {
			all = append(all, Change{Change: "gone", Host: f.Host, Finding: &f.Finding})
		}
	}
	return all
}

// String is the change in one line.
func (c Change) String() string {
	text := fmt.Sprintf("%s %s: %s", c.Time, c.Host, c.Change)
	if c.Finding != nil {
		text += fmt.Sprintf(" %s: %s", c.Finding.Rule, c.Finding.Says)
		if c.Finding.Change != nil && c.Change == "appeared" {
			text += " Change: " + c.Finding.Change.Says + "."
		}
	}
	if c.Error != "" {
		text += ": " + c.Error
	}
	return escaped(text)
}
