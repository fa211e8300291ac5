package check

import (
	"strings"

	"plimsoll/internal/claim/document"
)

// groupsOf determines the columns of a table. In a table with several change columns, two
// value columns precede each.
func groupsOf(a *auditor, header []string, rows []document.Row) []columns {
	first := a.columnsOf(header, rows, 0, len(header))
	if !headed(header) || first.change >= 0 {
		return []columns{first}
	}
	all := []columns{first}
	from := 0
	for k, h := range header {
		if changeHeader().MatchString(h) {
			if c := a.columnsOf(header, rows, from, k+1); c.change >= 0 && c.before >= 0 && c.before+c.after == 2*k-3 {
				all = append(all, c)
			}
			from = k + 1
		}
	}
	return all
}

func (a *auditor) columnsOf(header []string, rows []document.Row, from, to int) columns {
	c := columns{before: -1, after: -1, change: -1, loop: [3]int{-1, -1, -1}}
	if !headed(header) {
		return c
	}
	numeric := func(k int) bool {
		for _, r := range rows[1:] {
			if k < len(r.Cells) && isNumber(a.doc.Locale, r.Cells[k]) {
				return true
			}
		}
		return false
	}
	var values []int
	changes := 0
	for k, h := range header[:to] {
		if k < from {
			continue
		}
		switch {
		case !numeric(k) && !changeHeader().MatchString(h):
		case changeHeader().MatchString(h):
			c.change = k
			changes++
		case k > 0:
			values = append(values, k)
		}
		loopColumn(&c, k, h)
	}
	if changes != 1 {
		c.change = -1
		return c
	}
	for _, k := range values {
		switch {
		case beforeHeader().MatchString(header[k]) && c.before < 0:
			c.before = k
		case afterHeader().MatchString(header[k]) && c.after < 0:
			c.after = k
		}
	}
	if len(values) != 2 {
		if c.before < 0 || c.after < 0 {
			c.before, c.after, c.change = -1, -1, -1
		}
		return c
	}
	switch {
	case c.before >= 0 && c.after < 0:
		c.after = values[0] + values[1] - c.before
	case c.after >= 0 && c.before < 0:
		c.before = values[0] + values[1] - c.after
	case c.before < 0:
		c.before, c.after, c.either = values[0], values[1], true
	}
	return c
}

func loopColumn(c *columns, k int, h string) {
	at := -1
	switch {
	case flightHeader().MatchString(h) && !strings.Contains(strings.ToLower(h), " per "):
		at = 0
	case rateHeader().MatchString(h):
		at = 1
	case meanHeader().MatchString(h) && timeHeader().MatchString(h):
		at = 2
	}
	if at < 0 {
		return
	}
	if c.loop[at] >= 0 {
		k = -2 // two of a kind are ambiguous
	}
	c.loop[at] = k
}
