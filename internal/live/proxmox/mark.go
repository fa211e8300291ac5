package proxmox

import "strings"

// mark is the line of a node's notes that excludes it from plimsoll's moves. The HA manager
// has a maintenance of its own, which the API can only read.
const mark = "plimsoll: maintenance"

// marked reports whether notes have the mark.
func marked(notes string) bool {
	for line := range strings.Lines(notes) {
		if strings.TrimSpace(line) == mark {
			return true
		}
	}
	return false
}

// withMark adds the mark to notes, or removes it; everything else stays.
func withMark(notes string, set bool) string {
	var out []string
	for _, line := range strings.Split(strings.TrimRight(notes, "\n"), "\n") {
		if strings.TrimSpace(line) != mark && (line != "" || len(out) > 0) {
			out = append(out, line)
		}
	}
	if set {
		out = append(out, mark)
	}
	return strings.Join(out, "\n")
}
