// Package certificate lists the validity checks of a study: those of its trials, one line
// each, and its own.
package certificate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/finding"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/measure"
	"plimsoll/internal/quantity"
	"plimsoll/internal/stat"
)

// checks are the checks of the study itself.
type checks struct {
	table     *table.Table
	headlines []finding.Comparison
}

// Of is the certificate of a study.
func Of(t *table.Table, headlines []finding.Comparison) []measure.Check {
	c := &checks{t, headlines}
	all := trialChecks(t)
	all = append(all, c.voids(), c.blocksComplete())
	if c.table.Arms > 1 {
		all = append(all, c.balanced(), c.orderEffect())
		all = append(all, c.stolen()...)
		all = append(all, c.outliers()...)
		all = append(all, c.warmups())
	}
	all = append(all,
		measure.Check{Name: "seed", State: measure.Pass, Detail: fmt.Sprintf("%d determines all random orders and choices", c.table.Plan.Seed)},
		c.observed(), c.quantiles(), c.countersRead(), c.noiseFloor())
	return all
}

// outcome counts one check over trials.
type outcome struct {
	name                    string
	kind                    measure.Kind
	passed, failed, unknown int
	voidFailed              int
	voidDetail              string // of the first void trial in which it failed
	worst                   measure.State
	detail                  string // of the first trial with the worst state
	trial                   int
}

// trialChecks aggregates the checks of the valid trials. Void trials, which failed one by
// definition, are in the ledger.
func trialChecks(t *table.Table) []measure.Check {
	var order []*outcome
	byName := map[string]*outcome{}
	for i := range t.Records {
		r := &t.Records[i]
		for _, check := range r.Checks {
			o := byName[check.Name]
			if o == nil {
				o = &outcome{name: check.Name, kind: check.Kind}
				byName[check.Name] = o
				order = append(order, o)
			}
			o.count(r, check)
		}
	}
	checks := make([]measure.Check, len(order))
	for i, o := range order {
		checks[i] = o.line()
	}
	return checks
}

func (o *outcome) count(r *measure.Record, check measure.Check) {
	if !r.Valid() {
		if check.State == measure.Fail {
			if o.voidFailed++; o.voidFailed == 1 {
				o.voidDetail = fmt.Sprintf("trial %d: %s", r.Trial, check.Detail)
			}
		}
		return
	}
	switch check.State {
	case measure.Pass:
		o.passed++
	case measure.Fail:
		o.failed++
	default:
		o.unknown++
	}
	if severity(check.State) > severity(o.worst) || o.worst == "" {
		o.worst, o.detail, o.trial = check.State, check.Detail, r.Trial
	}
}

func severity(s measure.State) int {
	switch s {
	case measure.Fail:
		return 2
	case measure.Unknown:
		return 1
	}
	return 0
}

func (o *outcome) line() measure.Check {
	total := o.passed + o.failed + o.unknown
	if total == 0 {
		return o.void()
	}
	parts := []string{fmt.Sprintf("%d of %d valid trials passed", o.passed, total)}
	if o.failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", o.failed))
	}
	if o.unknown > 0 {
		parts = append(parts, fmt.Sprintf("%d unknown", o.unknown))
	}
	if o.voidFailed > 0 {
		parts = append(parts, fmt.Sprintf("and %d void %s failed it", o.voidFailed, quantity.Plural(o.voidFailed, "trial")))
	}
	detail := strings.Join(parts, ", ")
	state := o.worst
	if o.kind == measure.KindData && o.voidFailed > 0 {
		return measure.Check{Name: o.name, Kind: o.kind, State: measure.Fail, Detail: detail + "; " + o.voidDetail}
	}
	if state != measure.Pass || total == 1 || o.name == measure.EnergyCheck { // which names its source
		detail += fmt.Sprintf("; trial %d: %s", o.trial, o.detail)
	}
	return measure.Check{Name: o.name, Kind: o.kind, State: state, Detail: detail}
}

// unjudged is the line of a check without a valid trial.
func unjudged(name string) measure.Check {
	return measure.Check{Name: name, State: measure.Unknown, Detail: "no valid trial"}
}

// void is the line of a check if all trials are void: it failed if it voided one.
func (o *outcome) void() measure.Check {
	check := unjudged(o.name)
	check.Kind = o.kind
	if o.voidFailed > 0 {
		check.State = measure.Fail
		check.Detail += fmt.Sprintf("; %d void %s failed it; %s", o.voidFailed, quantity.Plural(o.voidFailed, "trial"), o.voidDetail)
	}
	return check
}

// voidLimit is the share of void trials above which the remaining trials may be biased.
const voidLimit = 0.25

func (c *checks) voids() measure.Check {
	check := measure.Check{Name: "void trials", State: measure.Pass}
	total, void := len(c.table.Records), len(c.table.Records)-len(c.table.Valid)
	if void == 0 {
		check.Detail = fmt.Sprintf("all %d trials are valid", total)
		return check
	}
	causes := map[string]int{}
	byArm := make([]int, c.table.Arms)
	for _, r := range c.table.Records {
		if !r.Valid() {
			cause, _, _ := strings.Cut(r.Void, ":")
			causes[cause]++
			if r.Arm >= 0 && r.Arm < len(byArm) {
				byArm[r.Arm]++
			}
		}
	}
	check.Detail = fmt.Sprintf("%d of %d trials are void: %s", void, total, listed(causes))
	for arm := 1; arm < c.table.Arms; arm++ {
		if stat.Fisher(byArm[0], len(c.table.Of[0]), byArm[arm], len(c.table.Of[arm])) < 0.05 {
			check.State = measure.Fail
			check.Detail += fmt.Sprintf("; %s lost %d and %s lost %d: survivorship bias", c.table.Label(0), byArm[0], c.table.Label(arm), byArm[arm])
			return check
		}
	}
	if float64(void) > voidLimit*float64(total) {
		check.State = measure.Fail
		check.Detail += "; so many that the remaining trials may be biased"
	}
	return check
}

// listed writes counts by name, most frequent first.
func listed(counts map[string]int) string {
	names := make([]string, 0, len(counts))
	for n := range counts {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	for i, n := range names {
		names[i] = fmt.Sprintf("%s (%d)", n, counts[n])
	}
	return strings.Join(names, ", ")
}

func (c *checks) blocksComplete() measure.Check {
	complete, begun := c.table.CompleteBlocks(), len(c.table.Blocks)
	check := measure.Check{Name: "blocks complete", State: measure.Pass, Detail: fmt.Sprintf("blocks with a valid trial of every arm: %d of %d", complete, begun)}
	if complete < begun {
		check.State = measure.Unknown
		check.Detail += "; incomplete blocks count only for their own arms"
	}
	if complete == 0 {
		check.State = measure.Fail
	}
	return check
}

// observed checks that each level was read back. A wrong level voids its trial; a level
// without read-back is unknown.
func (c *checks) observed() measure.Check {
	check := measure.Check{Name: "levels observed", State: measure.Pass}
	missing := map[string]int{}
	for i := range c.table.Valid {
		r := &c.table.Valid[i]
		for factor := range c.table.Plan.Arms[r.Arm].Levels {
			if _, ok := r.Observed[factor]; !ok {
				missing[factor]++
			}
		}
	}
	switch {
	case len(c.table.Valid) == 0:
		return unjudged(check.Name)
	case len(c.table.Study.Factors) == 0:
		check.Detail = "no factor is varied"
	case len(missing) == 0:
		check.Detail = fmt.Sprintf("every level of all %d valid trials was read back", len(c.table.Valid))
	default:
		check.State = measure.Unknown
		check.Detail = fmt.Sprintf("not read back, by trials: %s", listed(missing))
	}
	return check
}

// quantiles names the quantiles with too few samples.
func (c *checks) quantiles() measure.Check {
	check := measure.Check{Name: "quantiles", State: measure.Pass, Detail: "enough data for every quantile"}
	if len(c.table.Valid) == 0 {
		return unjudged(check.Name)
	}
	var lacking []int    // trials without a quantile
	var short [][]string // quantiles, by lacking
	for _, m := range c.table.Metrics {
		if !isQuantile(m.Name) {
			continue
		}
		have := 0
		if col := c.table.Column(m.Name); col != nil {
			for _, x := range col.Values {
				if !math.IsNaN(x) {
					have++
				}
			}
		}
		if lost := len(c.table.Valid) - have; lost > 0 && c.applies(m.Name) {
			at := slices.Index(lacking, lost)
			if at < 0 {
				at, lacking, short = len(lacking), append(lacking, lost), append(short, nil)
			}
			short[at] = append(short[at], m.Name)
		}
	}
	var parts []string
	for i, names := range short {
		parts = append(parts, fmt.Sprintf("%s in %d of %d trials", strings.Join(names, ", "), lacking[i], len(c.table.Valid)))
	}
	if parts != nil {
		check.State = measure.Unknown
		check.Detail = "not enough data for " + strings.Join(parts, "; ")
	}
	return check
}

// isQuantile recognises latency quantiles, such as "p99.9" and "write.p50".
func isQuantile(name string) bool {
	last := name
	for _, prefix := range []string{"read.", "write."} {
		last = strings.TrimPrefix(last, prefix)
	}
	return len(last) > 1 && last[0] == 'p' && last[1] >= '0' && last[1] <= '9'
}

// applies reports whether the class of a metric occurs at all: a workload that only
// writes lacks no quantiles of reads.
func (c *checks) applies(name string) bool {
	class, _, found := strings.Cut(name, ".p")
	if !found || class == name || isQuantile(class) {
		return true
	}
	for i := range c.table.Valid {
		if c.table.Valid[i].Counts[class+".operations"] > 0 {
			return true
		}
	}
	return false
}

func (c *checks) countersRead() measure.Check {
	check := measure.Check{Name: "counters read", State: measure.Pass, Detail: "every source of counters could be read"}
	if len(c.table.Valid) == 0 {
		return unjudged(check.Name)
	}
	missing := map[string]int{}
	for i := range c.table.Valid {
		for _, m := range c.table.Valid[i].Missing {
			missing[m]++
		}
	}
	if len(missing) > 0 {
		check.State = measure.Unknown
		check.Detail = "not read, by trials: " + listed(missing)
	}
	return check
}
