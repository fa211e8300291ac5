package trend

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/escape"
	"plimsoll/internal/quantity"
)

// shown bounds the differences that a text lists in one place.
const shown = 12

// Text writes a trend as text, for users.
func (t *Trend) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in %s\n", escape.Line(t.Study), Number(t.Runs(), "finished run"), Number(len(t.Series), "series"))
	if chance := t.Chance(); chance != "" {
		fmt.Fprintln(&b, chance)
	}
	for i := range t.Series {
		t.Series[i].text(&b)
	}
	if len(t.LeftOut) > 0 {
		fmt.Fprintf(&b, "\nleft out: %s\n", Number(len(t.LeftOut), "folder"))
		for _, l := range t.LeftOut {
			fmt.Fprintf(&b, "  %s: %s\n", escape.Line(l.Folder), escape.Line(l.Reason))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Number is so many of something, whose plural may be its singular.
func Number(n int, noun string) string {
	if noun == "series" {
		return quantity.Count(n) + " series"
	}
	return quantity.Count(n) + " " + quantity.Plural(n, noun)
}

func (s *Series) text(b *strings.Builder) {
	fmt.Fprintf(b, "\nseries %s: %s, %s\n", s.ID, Number(len(s.Runs), "run"), s.When())
	if len(s.Differs) > 0 {
		b.WriteString("  differs from the series before:\n")
		listed(b, "    ", s.Differs)
	}
	for i := range s.Lines {
		l := &s.Lines[i]
		fmt.Fprintf(b, "  %s: %s, %s\n", escape.Line(l.Name()), l.LevelText(), l.Answer())
		for _, c := range l.Changes {
			fmt.Fprintf(b, "    %s  %s  first run: %s\n", Time(c.Started), c.Summary(), escape.Line(s.Runs[c.Run].Folder))
			listed(b, "      ", c.Along)
		}
		if l.Dependent {
			fmt.Fprintf(b, "    %s\n", l.Caution())
		}
	}
}

// Chance says how many lines are judged, and how many changes chance explains; empty where none is judged.
func (t *Trend) Chance() string {
	if t.Judged == 0 {
		return ""
	}
	most := strconv.FormatFloat(quantity.Round(t.ByChance, 2), 'f', -1, 64)
	return fmt.Sprintf("%s %s judged after each run: where nothing changed, %s provisional changes at a time are expected at most.", quantity.Count(t.Judged), verb(t.Judged), most)
}

func verb(lines int) string {
	if lines == 1 {
		return "line is"
	}
	return "lines are"
}

// listed writes differences, one per line.
func listed(b *strings.Builder, indent string, all []Difference) {
	for i, d := range all {
		if i == shown {
			fmt.Fprintf(b, "%s... and %s\n", indent, Number(len(all)-shown, "more difference"))
			return
		}
		fmt.Fprintf(b, "%s%s: %s -> %s\n", indent, escape.Line(d.Name), orNone(d.From), orNone(d.To))
	}
}

func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return escape.Line(value)
}

// Time is a time in the time zone of the reader, to the minute.
func Time(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// When is the time of the runs of a series.
func (s *Series) When() string {
	from, to := Time(s.Runs[0].Started), Time(last(s))
	if from == to {
		return from
	}
	return from + " to " + to
}

// Name is what a line is of.
func (l *Line) Name() string {
	switch {
	case l.Against != "":
		return fmt.Sprintf("%s, %s against %s", l.Metric.Name, l.Arm, l.Against)
	case l.Arm == "baseline":
		return l.Metric.Name
	}
	return l.Metric.Name + ", " + l.Arm
}

// LevelText is the level since the last change with its interval.
func (l *Line) LevelText() string {
	if l.Against != "" {
		return within(l.Level, l.Low, l.High)
	}
	of := func(v float64) string { return quantity.Measured(v, l.Low, l.High, l.Metric.Unit) }
	if l.Low == l.High {
		return of(l.Level)
	}
	return fmt.Sprintf("%s (%s to %s)", of(l.Level), of(l.Low), of(l.High))
}

func within(ratio, low, high float64) string {
	of := func(v float64) string { return quantity.PercentWithin(v, low, high) }
	if low == high {
		return of(ratio)
	}
	return fmt.Sprintf("%s (%s to %s)", of(ratio), of(low), of(high))
}

// Answer is what a line says, without a capital letter.
func (l *Line) Answer() string {
	if l.Few() {
		return fmt.Sprintf("too few runs to see a change: %d of at least %d", len(l.Points), l.Least)
	}
	spread := quantity.Share(quantity.Round(l.Spread, 2)) + " between runs"
	switch frozen := len(l.Changes); {
	case l.Standing() != nil:
		return fmt.Sprintf("a provisional change, %s", spread)
	case frozen == 0:
		return fmt.Sprintf("no change in %s, %s", Number(len(l.Points), "run"), spread)
	default:
		return fmt.Sprintf("%s, %s", Number(frozen, "change"), spread)
	}
}

// Summary is a change without its time.
func (c *Change) Summary() string {
	text := fmt.Sprintf("%s  %s", within(c.Ratio, c.Low, c.High), c.State)
	if c.State == Provisional {
		return text + ", " + Number(c.More, "more run") + " until it is frozen"
	}
	return fmt.Sprintf("%s  %s, %s", within(c.Ratio, c.Low, c.High), c.Verdict, c.State)
}

// Caution says why changes are found too often; empty without a reason.
func (l *Line) Caution() string {
	if !l.Dependent {
		return ""
	}
	return fmt.Sprintf("Consecutive runs resemble each other (autocorrelation %.2f): drift is found as a change.", l.Autocorrelation)
}
