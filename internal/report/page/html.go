package page

import (
	"fmt"
	"html/template"
	"strings"

	"plimsoll/internal/report"
	"plimsoll/internal/sentence"
)

// capitalised is a phrase with a capital letter.
func capitalised(phrase string) string {
	if phrase == "" {
		return ""
	}
	return strings.ToUpper(phrase[:1]) + strings.TrimSuffix(phrase[1:], ".")
}

// AsHTML is a sentence with each number in a <data> element.
func AsHTML(s sentence.Sentence) template.HTML {
	var b strings.Builder
	for _, x := range s.Spans() {
		if x.Number == nil {
			b.WriteString(report.EscapeHTML(x.Text))
			continue
		}
		value := x.Number.Text // of a setting
		if x.Number.Unit != "" {
			value = report.Exact(x.Number.Value)
		}
		fmt.Fprintf(&b, `<data value="%s" data-id="%s">%s</data>`, report.EscapeHTML(value), report.EscapeHTML(x.Number.ID), report.EscapeHTML(report.ShownNumber(x.Number)))
	}
	return template.HTML(b.String()) // every part is escaped above
}
