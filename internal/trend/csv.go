package trend

import (
	"encoding/csv"
	"io"
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/escape"
)

// CSV writes a row per run, with a column for each line and two for the ends of its interval. Tools that look for changes read it: a
// column with the time, columns with numbers, and others that describe the run. Values have base units and all their digits; ratios are
// the value of an arm divided by that of the baseline.
func (t *Trend) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	var names []string // of lines, of any series
	for i := range t.Series {
		for k := range t.Series[i].Lines {
			if name := t.Series[i].Lines[k].Name(); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	head := []string{"time", "folder", "version", "series"}
	for _, name := range names {
		name = escape.Cell(name)
		head = append(head, name, name+" low", name+" high")
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for i := range t.Series {
		s := &t.Series[i]
		for run := range s.Runs {
			if err := out.Write(s.row(run, names)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// row is a run as a row of the CSV file.
func (s *Series) row(run int, names []string) []string {
	r := &s.Runs[run]
	row := []string{r.Started.UTC().Format(time.RFC3339), escape.Cell(r.Folder), escape.Cell(r.Version), s.ID}
	for _, name := range names {
		cells := []string{"", "", ""}
		for k := range s.Lines {
			l := &s.Lines[k]
			at, ok := slices.BinarySearchFunc(l.Points, run, func(p Point, run int) int { return p.Run - run })
			if l.Name() == name && ok {
				p := l.Points[at]
				for i, v := range []float64{p.Value, p.Low, p.High} {
					cells[i] = strconv.FormatFloat(v, 'g', -1, 64)
				}
			}
		}
		row = append(row, cells...)
	}
	return row
}
