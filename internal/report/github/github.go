// Package github writes what GitHub Actions shows of a run: annotations, and the summary of a step.
package github

import (
	"fmt"
	"strings"

	"plimsoll/internal/document"
	"plimsoll/internal/escape"
)

// mostSummary is the largest summary of a step, in bytes: GitHub refuses a larger one as a whole.
const mostSummary = 1 << 20

// data and property escape the two parts of a command, as the toolkit of GitHub Actions does.
var (
	data     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// Mistake is the command that shows a mistake at its place in a file.
func Mistake(m *document.Mistake) string {
	var place []string
	if m.File != "" {
		place = append(place, "file="+property.Replace(m.File))
	}
	if m.Line > 0 {
		place = append(place, fmt.Sprintf("line=%d", m.Line), fmt.Sprintf("col=%d", m.Column))
	}
	return command("error", place, m.Text)
}

// Notice is the command that shows a text under a title.
func Notice(title, text string) string {
	return command("notice", []string{"title=" + property.Replace(title)}, text)
}

// Failure is the command that shows an error under a title.
func Failure(title, text string) string {
	return command("error", []string{"title=" + property.Replace(title)}, text)
}

// command is a line that the runner takes for a command. Other control characters become visible, so that the line stays one.
func command(name string, properties []string, text string) string {
	head := name
	if len(properties) > 0 {
		head += " " + strings.Join(properties, ",")
	}
	return "::" + escape.Text(head) + "::" + escape.Text(data.Replace(text))
}

// Cut is the part of a summary that fits where so many bytes are taken: whole, or cut after a line with a note.
func Cut(summary string, taken int64) string {
	const note = "\nThe rest of this summary does not fit into GitHub's limit of 1 MiB.\n"
	room := mostSummary - taken
	switch {
	case int64(len(summary)) <= room:
		return summary
	case room < int64(len(note)):
		return ""
	}
	head := summary[:room-int64(len(note))]
	return head[:strings.LastIndexByte(head, '\n')+1] + note
}
