// Package words has the phrases that reports on clusters share: numbers of things, lists of
// names, and sections of text.
package words

import (
	"fmt"
	"strings"

	"plimsoll/internal/cluster"
)

// MostNamed is the maximum number of names in a list of VMs.
const MostNamed = 3

// Several joins statements about VMs, up to a limit.
func Several(says []string) string {
	if len(says) <= MostNamed+1 {
		return strings.Join(says, "; ")
	}
	return fmt.Sprintf("%s; and %d more", strings.Join(says[:MostNamed], "; "), len(says)-MostNamed)
}

// Named lists names, the first few of many.
func Named(names []string) string {
	switch n := len(names); {
	case n == 0:
		return "none"
	case n == 1:
		return names[0]
	case n <= MostNamed+1:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	default:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:MostNamed], ", "), n-MostNamed)
	}
}

// Count is a number of things: "1 host", "2 hosts".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Verb is the form of a verb for a number of things.
func Verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Amount is an amount of a resource with its unit.
func Amount(r cluster.Resource, n int64) string {
	if r == cluster.CPU {
		return fmt.Sprintf("%d MHz", n)
	}
	return cluster.MiB(n)
}

// Section writes a title and its lines, indented; nothing without lines.
func Section(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, l := range lines {
		fmt.Fprintf(b, "  %s\n", l)
	}
}
