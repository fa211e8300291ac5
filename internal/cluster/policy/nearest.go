package policy

import (
	"fmt"
	"maps"
	"slices"
)

// mostTypos is how far a name may be from a known one to be taken for it.
const mostTypos = 2

// longestGuess is how long a name may be, in bytes, for a suggestion to be looked for.
const longestGuess = 100

// nearest suggests the known name that a name is probably meant to be, or is empty.
func nearest[V any](name string, known map[string]V) string {
	if len(name) > longestGuess {
		return ""
	}
	best, distance := "", mostTypos+1
	for _, k := range slices.Sorted(maps.Keys(known)) {
		if len(k) > len(name)+mostTypos || len(name) > len(k)+mostTypos {
			continue
		}
		if d := edits(name, k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": is it %q?", best)
}

// edits is how many bytes are to be added, dropped or replaced to make one text of the
// other (Levenshtein 1966).
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost++
			}
			corner = row[j+1]
			row[j+1] = min(cost, corner+1, row[j]+1)
		}
	}
	return row[len(b)]
}
