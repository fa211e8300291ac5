package livepage

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/events"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
)

const (
	mostRows  = 100  // of a table
	mostRunes = 120  // of a name
	mostValue = 1e15 // beyond which a number of a file is no measurement
)

// view is what the page shows.
type view struct {
	Name, Title, Study string
	Status             string
	Local              bool // the run loads this host
	State              string
	Done, Trials       int
	Facts              []fact
	Looks              string // about planned looks
	Values             *picture
	Voids              string
	Rate               *picture
	Latency            *picture
	Errors             *picture
	Classes            *rows
	Machines           *rows
	Checks             *rows
	NoChecks           string
	Notes              []events.Note
}

type fact struct{ Name, Value string }

// rows are a table whose first column names the row.
type rows struct {
	Columns []string
	Rows    [][]string
}

// picture is a figure in the two widths of which the style sheet selects one.
type picture struct {
	Title, Doc   string
	Wide, Narrow template.HTML
}

// newView arranges the state of the run.
func (p *Page) newView(s status) *view {
	state, last := &p.state, &p.state.Last
	v := &view{Status: s.Word, State: s.Text, Title: "Live page", Study: "live", Trials: max(0, last.Trials), Done: len(state.Trials)}
	run := state.Run
	if run == nil {
		run = &events.Run{}
	} else {
		v.Name, v.Study = short(run.Name), short(run.Study)
		v.Title = cmp.Or(strings.TrimSpace(run.Question), v.Study)
		v.Local = run.Platform == "local"
	}
	if v.State == "" {
		v.State = sentence(last)
	}
	v.Facts = facts(last)
	v.Looks = looks(run, last)
	v.Values, v.Voids = p.valuesOf(run), voids(state.Trials)
	v.Rate, v.Latency, v.Errors = rate(state.Points), latency(state.Points), failures(state.Points)
	v.Classes, v.Machines = classes(last.Load), machines(last.Machines)
	v.Checks, v.NoChecks = checks(run, last)
	v.Notes = slices.Clone(state.Notes[max(0, len(state.Notes)-10):])
	slices.Reverse(v.Notes)
	return v
}

// sentence is the state of the run without numbers that change each second: it is read aloud.
func sentence(l *events.Line) string {
	switch {
	case l.Phase == "":
		return "The run begins."
	case l.Trial < 1:
		return short(l.Phase) + "."
	case l.Trials < l.Trial:
		return fmt.Sprintf("Trial %d: %s.", l.Trial, short(l.Phase))
	}
	return fmt.Sprintf("Trial %d of at most %d: %s.", l.Trial, l.Trials, short(l.Phase))
}

func facts(l *events.Line) (all []fact) {
	add := func(name, value string) {
		if value != "" {
			all = append(all, fact{name, value})
		}
	}
	if l.Trial > 0 {
		add("trial", fmt.Sprintf("%d, block %d", l.Trial, l.Block))
		add("arm", short(l.Arm))
	}
	phase := short(l.Phase)
	if in := clock(l.InPhase); phase != "" && in != "" {
		phase += ", " + in
	}
	add("phase", phase)
	add("time left", left(l))
	add("elapsed", clock(l.Elapsed))
	return all
}

// left is the time left: up to the next look, which may decide, and at most.
func left(l *events.Line) string {
	soonest, most := clock(l.Soonest), clock(l.Left)
	switch {
	case most == "" || l.Left <= 0:
		return ""
	case soonest == "" || l.Soonest <= 0 || soonest == most:
		return "at most " + most
	}
	return soonest + " to " + most
}

// looks says when there is a verdict.
func looks(run *events.Run, l *events.Line) string {
	done := report.Plural(max(0, l.Blocks), "block is", "blocks are") + " complete"
	var before []string
	for _, n := range run.Looks {
		if n <= l.Blocks && len(before) < mostRows {
			before = append(before, strconv.Itoa(n))
		}
	}
	text := "No effect is shown before the run has ended: " + done + "."
	if l.Look > 0 {
		text = fmt.Sprintf("Next planned look: after %d blocks; %s. Effect and verdict follow when a look decides, or at the end.", l.Look, done)
	}
	if len(before) > 0 && l.Look > 0 {
		text += " Undecided after " + strings.Join(before, ", ") + " blocks."
	}
	return text
}

func voids(all []events.Ended) string {
	n, last := 0, (*events.Ended)(nil)
	for i := range all {
		if all[i].Void != "" {
			n, last = n+1, &all[i]
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s void and repeated; the last, trial %d: %s", n, report.Plural(len(all), "trial is", "trials are"), last.Trial, last.Void)
}

// classes is the load since the line before, by class.
func classes(l *events.Load) *rows {
	if l == nil {
		return nil
	}
	t := &rows{Columns: append([]string{"operations"}, figureColumns...)}
	t.Rows = append(t.Rows, append([]string{"all"}, cells(&l.Figures)...))
	for _, name := range slices.Sorted(maps.Keys(l.Classes)) {
		if f := l.Classes[name]; len(t.Rows) < mostRows {
			t.Rows = append(t.Rows, append([]string{short(name)}, cells(&f)...))
		}
	}
	return t
}

func machines(all []events.Machine) *rows {
	if len(all) == 0 {
		return nil
	}
	t := &rows{Columns: append(append([]string{"machine"}, figureColumns...), "counters")}
	for _, m := range all[:min(len(all), mostRows)] {
		name := short(m.Name)
		if m.Group != "" {
			name = short(m.Group) + ": " + name
		}
		row := []string{name, "", "", "", ""}
		if m.Load != nil {
			row = append([]string{name}, cells(m.Load)...)
		}
		var shares []string
		for _, check := range slices.Sorted(maps.Keys(m.Counters)) {
			if len(shares) < mostRows {
				shares = append(shares, short(check)+" "+percent(m.Counters[check]))
			}
		}
		t.Rows = append(t.Rows, append(row, strings.Join(shares, ", ")))
	}
	return t
}

var figureColumns = []string{"rate", "failed", "p50", "p99"}

// cells are the cells of figureColumns.
func cells(f *events.Figures) []string {
	row := []string{amount(f.Rate, "1/s"), quantity.Grouped(strconv.FormatInt(f.Errors, 10)), "", ""}
	for i, v := range []*float64{f.P50, f.P99} {
		if v != nil {
			row[2+i] = amount(*v, "s")
		}
	}
	return row
}

// checks are the counters that the certificate watches, with their limits.
func checks(run *events.Run, l *events.Line) (t *rows, none string) {
	if run.Virtual {
		return nil, "A simulated machine has no counters."
	}
	if len(l.Counters) == 0 {
		return nil, "No counters since the last load."
	}
	t = &rows{Columns: []string{"check", "now", "limit", "beyond it"}}
	for _, limit := range run.Limits[:min(len(run.Limits), mostRows)] {
		share, known := l.Counters[limit.Check]
		if !known {
			continue
		}
		beyond := "a warning"
		if limit.Voids {
			beyond = "the trial is void"
		}
		now := percent(share)
		if share > limit.Most {
			now += ", beyond the limit"
		}
		t.Rows = append(t.Rows, []string{short(limit.Check), now, percent(limit.Most), beyond})
	}
	return t, ""
}

func percent(share float64) string {
	if !plausible(share) {
		return ""
	}
	return quantity.Share(quantity.Round(share, 2))
}

func amount(v float64, unit string) string {
	if !plausible(v) {
		return ""
	}
	return report.Quantity(v, unit)
}

// plausible tells numbers that can be shown. A file may hold any.
func plausible(v float64) bool { return math.Abs(v) < mostValue }

// clock is a time of whole seconds; empty for none.
func clock(seconds float64) string {
	const minute, hour, most = 60, 3600, 1e8
	s := int(min(max(seconds, 0), most))
	switch {
	case seconds < 0 || seconds >= most:
		return ""
	case s >= hour:
		return fmt.Sprintf("%d h %02d min", s/hour, s%hour/minute)
	case s >= minute:
		return fmt.Sprintf("%d min %02d s", s/minute, s%minute)
	}
	return fmt.Sprintf("%d s", s)
}

// short is a name of bounded length.
func short(text string) string {
	runes := []rune(text)
	if len(runes) <= mostRunes {
		return text
	}
	return string(runes[:mostRunes-1]) + "…"
}
