package terminal

import (
	"fmt"

	"plimsoll/internal/escape"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
	"plimsoll/internal/report/content"
)

// accounts writes what each change is made of.
func (t *terminal) accounts(s *report.Sources) {
	all := content.Accounts(s)
	for _, a := range all[:min(len(all), content.MostAccounts)] {
		t.b.WriteString("\n" + escape.Line(a.Heading) + ":\n")
		var rows []textRow
		for _, l := range a.Terms {
			rows = append(rows, textRow{cells: [5]string{"  " + l.Name, "", l.Change, l.Between, l.Share}})
		}
		t.lines(rows)
	}
	if more := len(all) - content.MostAccounts; more > 0 {
		fmt.Fprintf(&t.b, "  and %s more\n", quantity.Count(more))
	}
}
