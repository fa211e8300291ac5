package audit

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/claim"
	"plimsoll/internal/claim/check"
	"plimsoll/internal/finding"
	"plimsoll/internal/quantity"
	"plimsoll/internal/study"
)

// auditFigure recomputes a published figure: its change from its values, and the sentences
// of its note.
func auditFigure(f *finding.Findings, fig study.Figure) []finding.Claim {
	var all []finding.Claim
	if from, to, ok := ends(f, fig); ok && fig.Change != nil {
		percent := strconv.FormatFloat(quantity.Round(100**fig.Change, 6), 'f', -1, 64) + " %"
		before, after := strconv.FormatFloat(from, 'f', -1, 64), strconv.FormatFloat(to, 'f', -1, 64)
		all = append(all, published(fig, quantity.Short(from)+" -> "+quantity.Short(to)+", "+percent, check.Change(before, after, percent)))
	}
	for _, c := range check.Text(fig.Note) {
		all = append(all, published(fig, cmp.Or(c.Said, c.Text), c))
	}
	return all
}

// published converts the result for a claim of a published figure.
func published(fig study.Figure, said string, c claim.Claim) finding.Claim {
	return finding.Claim{Sentence: "published: " + fig.Metric + " " + said, Computed: c.Computed, Fault: c.Reason,
		Holds: c.Status == claim.Holds, NotUnderstood: c.Status == claim.NotUnderstood}
}

// ends are the first and the last value of a figure, in the order of the arms with its levels,
// else in numeric order of the levels. Levels without order are taken in the direction of the
// change.
func ends(f *finding.Findings, fig study.Figure) (from, to float64, ok bool) {
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
