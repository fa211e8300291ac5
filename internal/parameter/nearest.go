package parameter

import "strings"

// longestName is how long a name may be, in bytes, for a known one to be looked for.
const longestName = 100

// Nearest returns the known name that is closest to name by edit distance, or
// "" when none is within a third of the name's length (two edits at least) and
// for a name longer than any. Letter case and the choice among '_', '-' and ' '
// do not count.
func Nearest(name string, known []string) string {
	if len(name) > longestName {
		return ""
	}
	fold := func(s string) string { return strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(s)) }
	folded := fold(name)
	best, limit := "", max(2, len(name)/3)
	for _, k := range known {
		if max(len(k)-len(name), len(name)-len(k)) > limit {
			continue
		}
		if d := distance(folded, fold(k)); d <= limit && d < max(len(name), len(k)) {
			best, limit = k, d-1
		}
	}
	return best
}

// distance counts the insertions, deletions, substitutions and swaps of
// neighbours that turn a into b (optimal string alignment), in three rows.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j], row[j-1]) + 1
			if a[i-1] == b[j-1] {
				row[j] = min(row[j], last[j-1])
			} else {
				row[j] = min(row[j], last[j-1]+1)
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
