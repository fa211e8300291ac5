package finding

import (
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/study"
)

// auditFigure recomputes what a published figure says: its change from its values,
// and the statements in its note.
func auditFigure(f *Findings, fig study.Figure) []Claim {
	var all []Claim
	if from, to, ok := ends(f, fig); ok && fig.Change != nil {
		percent := strconv.FormatFloat(roundTo(100**fig.Change, 6), 'f', -1, 64)
		claim := ChangeStatement{From: from, To: to, Percent: percent}.Audit()
		claim.Sentence = "published: " + fig.Metric + " " + digits(from) + " -> " + digits(to) + ", " + percent + " %"
		all = append(all, claim)
	}
	for _, s := range ParseStatements(fig.Note) {
		claim := s.Audit()
		claim.Sentence = "published: " + fig.Metric + " " + s.Text
		all = append(all, claim)
	}
	return all
}

// ends are the first and the last value of a figure, in the order of the arms that
// carry its levels, else in numeric order of the levels. Names that no arm carries have
// no order: theirs is the one in which the values go the way of the change.
func ends(f *Findings, fig study.Figure) (from, to float64, ok bool) {
	if len(fig.Values) != 2 {
		return 0, 0, false
	}
	var levels []string
	for _, a := range f.Arms {
		for _, level := range a.Levels {
			if _, found := fig.Values[level]; found && !slices.Contains(levels, level) {
				levels = append(levels, level)
			}
		}
	}
	if len(levels) != 2 {
		ordered := true
		levels = levels[:0]
		for level := range fig.Values {
			levels = append(levels, level)
		}
		slices.SortFunc(levels, func(a, b string) int {
			x, errX := strconv.ParseFloat(a, 64)
			y, errY := strconv.ParseFloat(b, 64)
			if errX == nil && errY == nil && x != y {
				if x < y {
					return -1
				}
				return 1
			}
			ordered = false
			return strings.Compare(a, b)
		})
		if from, to := fig.Values[levels[0]], fig.Values[levels[1]]; !ordered && fig.Change != nil && (to > from) != (*fig.Change > 0) {
			slices.Reverse(levels)
		}
	}
	return fig.Values[levels[0]], fig.Values[levels[1]], fig.Values[levels[0]] != 0
}
