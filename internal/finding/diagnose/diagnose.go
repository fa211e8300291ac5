// Package diagnose explains the limits of arms by the rules of diagnosis, from the states of the
// hosts that were recorded with the trials.
package diagnose

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/finding"
	"plimsoll/internal/finding/rule"
	"plimsoll/internal/finding/table"
	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/measure"
)

const (
	mostFindings = 5   // explanations of an arm
	oftenEnough  = 0.5 // share of an arm's trials above which a finding is the arm's
)

// same are the rules of explanation that say the same as a rule of diagnosis, and know the study
// better.
var same = map[string][]string{
	"client_limit":       {"generator_cpu", "closed_loop"},
	"cpu_saturated":      {"generator_cpu"},
	"queue_depth_low":    {"outstanding_io_too_low"},
	"device_ceiling":     {"device_at_ceiling"},
	"page_cache_as_disk": {"working_set_in_page_cache"},
}

// Explain judges the trials of the relevant arms, and adds what it finds to the explanations. What
// another rule has explained already is left out.
func Explain(c *rule.Case, rules []diagnosis.Rule, best int, said []finding.Explanation) (found []finding.Explanation, notJudged []string) {
	arms, limits := c.Scope(best)
	if !limits {
		return nil, nil
	}
	reasons := map[string][]string{}
	for _, arm := range arms {
		all := judged(c.Table, arm, rules, reasons)
		for _, f := range all {
			if len(found) > 0 && count(found, arm) == mostFindings {
				break
			}
			known := func(e finding.Explanation) bool {
				return e.Arm == arm && !f.under && slices.Contains(same[f.rule], e.Rule)
			}
			if !slices.ContainsFunc(said, known) && f.trials > oftenEnough*f.of {
				found = append(found, f.explain(c, arm))
			}
		}
	}
	notJudged = unread(c.Table, arms)
	for reason, names := range reasons {
		notJudged = append(notJudged, strings.Join(names, ", ")+": "+reason)
	}
	slices.Sort(notJudged)
	return found, notJudged
}

func count(all []finding.Explanation, arm int) (n int) {
	for i := range all {
		if all[i].Arm == arm {
			n++
		}
	}
	return n
}

// group is a rule's finding about one subject over the trials of an arm.
type group struct {
	rule, subject, machine string
	under                  bool // the machine is the host of the others
	each                   []diagnosis.Finding
	impact                 float64 // mean over the trials with the finding
	trials, of             float64
	many                   bool // the study has several machines
}

// inGuests are the rules that judge how a program uses its threads. Those of a guest's process are
// its vCPUs, which are judged in the guest.
var inGuests = []string{"hot_thread", "too_few_workers", "too_many_workers", "lock_convoy"}

// judged are the findings about an arm, in order of rank: of each rule the one that costs most, on
// the machines and on their host.
func judged(t *table.Table, arm int, rules []diagnosis.Rule, reasons map[string][]string) []*group {
	var all []*group
	trials := 0.
	for _, record := range recordsOf(t, arm) {
		trials++
		for _, d := range t.Hosts[record.Trial] {
			e := evidenceOf(record, d)
			found, unjudged := diagnosis.Judge(e, rules)
			for _, f := range found {
				if f.Cause == "" && !(isHost(d) && slices.Contains(inGuests, f.Rule)) {
					f.Template = unnumbered(e, f.Template)
					all = add(all, f, group{rule: f.Rule, subject: subjectOf(e, &f), machine: d.Machine, under: isHost(d)})
				}
			}
			for _, u := range unjudged {
				if !slices.Contains(reasons[u.Reason], u.Rule) {
					reasons[u.Reason] = append(reasons[u.Reason], u.Rule)
				}
			}
			for _, g := range all {
				g.many = g.many || len(t.Hosts[record.Trial]) > 1
			}
		}
	}
	for _, g := range all {
		g.of = trials
		g.trials = float64(len(g.each))
		for _, f := range g.each {
			g.impact += f.Impact / g.trials
		}
	}
	rank := map[diagnosis.Confidence]int{diagnosis.Certain: 0, diagnosis.Likely: 1, diagnosis.Possible: 2}
	slices.SortStableFunc(all, func(a, b *group) int {
		return cmp.Or(cmp.Compare(rank[a.each[0].Confidence], rank[b.each[0].Confidence]), cmp.Compare(b.impact, a.impact))
	})
	var first []*group
	for _, g := range all {
		if !slices.ContainsFunc(first, func(x *group) bool { return x.rule == g.rule && x.under == g.under }) {
			first = append(first, g)
		}
	}
	return first
}

// recordsOf are the trials of an arm with a state of a host: valid ones or, without any, void
// ones, since what limits a load often voids its trials.
func recordsOf(t *table.Table, arm int) (all []*measure.Record) {
	for _, valid := range []bool{true, false} {
		for i := range t.Records {
			if r := &t.Records[i]; r.Arm == arm && r.Valid() == valid && len(t.Hosts[r.Trial]) > 0 {
				all = append(all, r)
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return nil
}

var number = regexp.MustCompile(` \((\d+)\)$`)

// subjectOf is the subject without the number of the process, which differs between trials.
func subjectOf(e *diagnosis.Evidence, f *diagnosis.Finding) string {
	at := number.FindStringSubmatchIndex(f.Subject)
	if at == nil {
		return f.Subject
	}
	pid, err := strconv.Atoi(f.Subject[at[2]:at[3]])
	if err == nil && slices.Contains(e.Generators, pid) && !strings.Contains(f.Template, "load generator") {
		return "the load generator"
	}
	return f.Subject[:at[0]]
}

var anyNumber = regexp.MustCompile(` \((\d+)\)`)

// unnumbered is a sentence without the numbers of processes.
func unnumbered(e *diagnosis.Evidence, says string) string {
	return anyNumber.ReplaceAllStringFunc(says, func(text string) string {
		pid, err := strconv.Atoi(text[2 : len(text)-1])
		if err == nil && slices.ContainsFunc(e.Mean.Processes, func(p hoststat.Process) bool { return p.PID == pid }) {
			return ""
		}
		return text
	})
}

// isHost reports whether a machine is the host of the others.
func isHost(d *trace.Detail) bool { return len(d.Guests) > 0 }

// add adds a finding to those about the same subject.
func add(all []*group, f diagnosis.Finding, to group) []*group {
	at := slices.IndexFunc(all, func(g *group) bool {
		return g.rule == to.rule && g.subject == to.subject && g.machine == to.machine
	})
	if at < 0 {
		at = len(all)
		all = append(all, &to)
	}
	all[at].each = append(all[at].each, f)
	return all
}

// evidenceOf is what rules see of a trial.
func evidenceOf(r *measure.Record, d *trace.Detail) *diagnosis.Evidence {
	e := &diagnosis.Evidence{Recording: d.Recording, Focus: d.Guests}
	e.Intervals = nil
	const edge = 0.6 // seconds between a sample and the end of the window
	for _, i := range d.Intervals {
		if i.At-i.Seconds >= r.Window.Cut-edge && i.At <= r.Window.End+edge {
			e.Intervals = append(e.Intervals, i)
		}
	}
	for i := range e.Mean.Processes {
		p := &e.Mean.Processes[i]
		switch p.Part(d.Served) {
		case hoststat.Lab:
			e.Own = append(e.Own, p.PID)
		case hoststat.Generator:
			e.Generators = append(e.Generators, p.PID)
		}
	}
	return e
}

// explain is the finding as an explanation of the arm, with the means of its numbers.
func (g *group) explain(c *rule.Case, arm int) finding.Explanation {
	last := g.each[len(g.each)-1]
	f := &rule.Found{Says: last.Template, Grade: finding.AccountsFor, Names: map[string]string{"subject": g.subject, "machine": g.machine}}
	if g.under {
		f.Names["machine"] = "the host"
	}
	if last.Confidence == diagnosis.Possible {
		f.Grade = finding.MovedWith
	}
	for _, fact := range last.Evidence {
		sum, n := 0., 0.
		for _, one := range g.each {
			for _, other := range one.Evidence {
				if other.Name == fact.Name {
					sum, n = sum+other.Value, n+1
				}
			}
		}
		f.Evidence = append(f.Evidence, finding.Evidence{Name: fact.Name, Value: sum / n, Unit: fact.Unit})
	}
	switch many := g.many || g.under; {
	case many && c.Table.Arms > 1:
		f.Says = "On {machine} with {arm}: " + f.Says
	case many:
		f.Says = "On {machine}: " + f.Says
	case c.Table.Arms > 1:
		f.Says = "With {arm}: " + f.Says
	}
	if last.Change != nil {
		if !g.under { // the factors of a study are those of its machines
			f.Change = changeOf(c.Table, arm, last.Change)
		}
		if f.Change == nil {
			f.Advice, f.Command = last.Change.Says, last.Change.Command
		}
	}
	if p := last.Prediction; p != nil {
		f.Gain = &finding.Gain{Low: p.Low, High: p.High, Basis: p.Basis}
	}
	e := c.Explained(g.rule, arm, f)
	e.Names = namesIn(f.Says + " " + f.Names["subject"] + " " + f.Names["machine"])
	return e
}

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// namesIn are the names with digits in a template: of guests, devices and files such as client-2, and
// of CPUs such as "CPUs 2-3". Numbers have placeholders.
func namesIn(says string) (names []string) {
	before := ""
	for word := range strings.FieldsSeq(placeholder.ReplaceAllString(says, " ")) {
		name := strings.Trim(word, ".,:;()")
		if strings.ContainsAny(name, "0123456789") {
			if !strings.ContainsFunc(name, unicode.IsLetter) {
				name = before + " " + name
			}
			names = append(names, name)
		}
		before = word
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// lifted are the levels of factors that restrict nothing, for changes that name none.
var lifted = map[string]string{"host.quota": "none", "host.affinity": "free", "host.cpuset": "free"}

// changeOf is the change as one of a factor that the study knows at its present level; nil if it
// does not.
func changeOf(t *table.Table, arm int, c *diagnosis.Change) *finding.Change {
	if c.Factor == "" {
		return nil
	}
	for _, f := range t.Study.Factors {
		if f.Name != c.Factor {
			continue
		}
		from := t.Plan.Arms[arm].Levels[f.FullName()]
		to := cmp.Or(c.To, lifted[c.Factor])
		for _, level := range f.Levels {
			if to == "" && level != from {
				to = level
			}
		}
		if from != "" && to != "" && from != to {
			return &finding.Change{Factor: f.FullName(), From: from, To: to}
		}
		return nil
	}
	if level, ok := t.Setting(arm, c.Factor); ok && c.To != "" && level != c.To {
		return &finding.Change{Factor: t.Study.Workload.Kind + "." + c.Factor, From: level, To: c.To}
	}
	return nil
}

// unread are the hosts of guests that were not read in the trials of some arms, with the reason.
func unread(t *table.Table, arms []int) (lines []string) {
	for i := range t.Records {
		for _, m := range t.Records[i].Missing {
			if line := "ready_time and all other rules on the " + m; strings.HasPrefix(m, measure.HostOf) && slices.Contains(arms, t.Records[i].Arm) && !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}
