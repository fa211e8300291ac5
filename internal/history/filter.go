package history

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/parameter"
)

// Filter selects runs. Its zero value selects all.
type Filter struct {
	Study   string // name
	State   State
	Verdict string // the verdict, or its beginning
	Tag     string
	Since   time.Time // earliest start
	Text    string    // in folder, study, question, answer, testbed or a tag, in any letter case
}

// Check returns an error for a state that there is not.
func (f *Filter) Check() error {
	if f.State == "" || slices.Contains(States(), string(f.State)) {
		return nil
	}
	if near := parameter.Nearest(string(f.State), States()); near != "" {
		return fmt.Errorf("unknown state %q; did you mean %q?", f.State, near)
	}
	return fmt.Errorf("unknown state %q; the states are %s", f.State, strings.Join(States(), ", "))
}

// Select returns the runs that a filter selects.
func (f *Filter) Select(runs []Run) []Run {
	text := strings.ToLower(f.Text)
	selected := []Run{}
	for i := range runs {
		if f.selects(&runs[i], text) {
			selected = append(selected, runs[i])
		}
	}
	return selected
}

func (f *Filter) selects(r *Run, text string) bool {
	switch {
	case f.Study != "" && r.Study != f.Study,
		f.State != "" && r.State != f.State,
		f.Verdict != "" && !strings.HasPrefix(strings.ToLower(r.Verdict), strings.ToLower(f.Verdict)),
		f.Tag != "" && !slices.Contains(r.Tags, f.Tag),
		!f.Since.IsZero() && r.Started.Before(f.Since):
		return false
	case text == "":
		return true
	}
	contains := func(s string) bool { return strings.Contains(strings.ToLower(s), text) }
	return contains(r.Folder) || contains(r.Study) || contains(r.Question) || contains(r.Answer) || contains(r.Machine) || slices.ContainsFunc(r.Tags, contains)
}

// Since reads the earliest start: a date such as 2026-01-31, or an age such as 12h, 30d or 4w.
func Since(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if day, err := time.ParseInLocation(time.DateOnly, text, time.Local); err == nil {
		return day, nil
	}
	age, err := Age(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is neither a date such as 2026-01-31 nor an age such as 12h, 30d or 4w", text)
	}
	return now.Add(-age), nil
}

// Age reads an age such as 12h, 30d or 4w.
func Age(text string) (time.Duration, error) {
	const mostDays = 100_000
	wrong := errors.New("not an age such as 12h, 30d or 4w")
	if len(text) < 2 {
		return 0, wrong
	}
	n, err := strconv.Atoi(text[:len(text)-1])
	hours, known := map[byte]int{'h': 1, 'd': 24, 'w': 7 * 24}[text[len(text)-1]]
	if err != nil || !known || n < 0 || n*hours/24 > mostDays || n > mostDays*24 {
		return 0, wrong
	}
	return time.Duration(n*hours) * time.Hour, nil
}

// orders are the keys by which runs are sorted.
var orders = map[string]func(a, b *Run) int{
	"started": func(a, b *Run) int { return a.Started.Compare(b.Started) },
	"study":   func(a, b *Run) int { return cmp.Compare(a.Study, b.Study) },
	"state":   func(a, b *Run) int { return cmp.Compare(a.State, b.State) },
	"verdict": func(a, b *Run) int { return cmp.Compare(a.Verdict, b.Verdict) },
	"trials":  func(a, b *Run) int { return cmp.Compare(a.Trials, b.Trials) },
	"time":    func(a, b *Run) int { return cmp.Compare(a.Time(), b.Time()) },
	"folder":  func(a, b *Run) int { return cmp.Compare(a.Folder, b.Folder) },
}

// Orders lists the keys of Sort.
func Orders() []string {
	return []string{"started", "study", "state", "verdict", "trials", "time", "folder"}
}

// Time is how long a run took; 0 while it is not known.
func (r *Run) Time() time.Duration {
	if r.Ended.IsZero() || r.Started.IsZero() {
		return 0
	}
	return r.Ended.Sub(r.Started)
}

// Sort sorts runs by a key, in reverse if a minus stands before it. Runs that are equal stay in their order.
func Sort(runs []Run, key string) error {
	name, down := strings.CutPrefix(key, "-")
	order, known := orders[name]
	if !known {
		return fmt.Errorf("unknown order %q; the orders are %s, with - before them in reverse", key, strings.Join(Orders(), ", "))
	}
	slices.SortStableFunc(runs, func(a, b Run) int {
		if down {
			return order(&b, &a)
		}
		return order(&a, &b)
	})
	return nil
}
