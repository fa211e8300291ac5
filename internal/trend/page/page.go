// Package page writes a trend as one HTML page: a figure for each line, its changes and its data. It is a pure function of the trend.
package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"

	"plimsoll/internal/report"
	"plimsoll/internal/report/chart"
	"plimsoll/internal/trend"
	"plimsoll/internal/webpage"
)

//go:embed page.css
var style string

//go:embed page.html
var layout string

// content is what the page says.
type content struct {
	Look   webpage.Look
	Name   string
	Title  string
	Badge  webpage.Badge
	Chance string // how many changes it explains
	Series []series
	Left   []trend.LeftOut
}

type series struct {
	ID, Title string
	Runs      string
	Differs   []trend.Difference
	Lines     []line
}

type line struct {
	ID           string
	Name         string
	Level        string
	Answer       string
	Caution      string
	Changes      []changed
	Wide, Narrow template.HTML
	Head         []string
	Rows         [][]string
}

type changed struct {
	When, Size, State, Class, Folder string
	Along                            []trend.Difference
}

// the widths of the drawings, in pixels.
const (
	wide   = 760
	narrow = 360
)

// Shown is a trend as a server shows it.
type Shown struct{ *trend.Trend }

// JSON is the trend for programs.
func (s Shown) JSON() any { return s.Trend }

// Page is the page as HTML, which loads nothing and runs no script.
func (s Shown) Page() ([]byte, error) {
	t := s.Trend
	c := content{Look: webpage.LookOf(style), Name: t.Study, Title: "Trend of " + t.Study, Badge: badgeOf(t), Chance: t.Chance(), Left: t.LeftOut}
	for i := len(t.Series) - 1; i >= 0; i-- { // the latest is what most look for
		c.Series = append(c.Series, seriesOf(&t.Series[i], i))
	}
	var text bytes.Buffer
	parsed, err := webpage.Parse(layout, nil)
	if err == nil {
		err = parsed.Execute(&text, c)
	}
	if err != nil {
		return nil, fmt.Errorf("page of the trend of %s: %w", t.Study, err)
	}
	return text.Bytes(), nil
}

// badgeOf is the state of the latest series in a few words. Only what is frozen has a colour.
func badgeOf(t *trend.Trend) webpage.Badge {
	s := t.Latest()
	if s == nil {
		return webpage.Badge{Word: "No finished run", Class: "open", Mark: chart.Shapes[0]}
	}
	few, changes := true, 0
	for i := range s.Lines {
		l := &s.Lines[i]
		if l.Standing() != nil {
			return webpage.Badge{Word: "Provisional change", Class: "open", Mark: chart.Shapes[0]}
		}
		few = few && l.Few()
		changes += len(l.Changes)
	}
	switch {
	case few:
		return webpage.Badge{Word: "Too few runs", Class: "open", Mark: chart.Shapes[0]}
	case changes == 0:
		return webpage.Badge{Word: "No change", Class: "equivalent", Mark: chart.Shapes[3]}
	}
	return webpage.Badge{Word: trend.Number(changes, "change"), Class: "different", Mark: chart.Shapes[0]}
}

func seriesOf(s *trend.Series, number int) series {
	out := series{ID: s.ID, Title: s.When(), Runs: trend.Number(len(s.Runs), "run"), Differs: s.Differs}
	for i := range s.Lines {
		out.Lines = append(out.Lines, lineOf(s, &s.Lines[i], fmt.Sprintf("line-%d-%d", number+1, i+1)))
	}
	return out
}

// said is the state of a change.
func said(c *trend.Change) string {
	if c.State == trend.Provisional {
		return fmt.Sprintf("provisional, %s until it is frozen", trend.Number(c.More, "more run"))
	}
	return fmt.Sprintf("%s, frozen", c.Verdict)
}

func lineOf(s *trend.Series, l *trend.Line, id string) line {
	t := table(s, l, id)
	out := line{
		ID: id, Name: l.Name(), Level: report.Typeset(l.LevelText()), Answer: l.Answer(), Caution: l.Caution(),
		Wide: template.HTML(draw(t, l, wide)), Narrow: template.HTML(draw(t, l, narrow)), // package chart escapes its texts
	}
	for _, c := range l.Changes {
		_, class := look(&c)
		out.Changes = append(out.Changes, changed{trend.Time(c.Started), size(&c), said(&c), class, s.Runs[c.Run].Folder, c.Along})
	}
	for _, c := range t.Columns {
		out.Head = append(out.Head, c.Name)
	}
	for row := range t.Rows {
		cells := make([]string, len(t.Columns))
		for i := range cells {
			cells[i] = t.Shown(row, i)
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}
