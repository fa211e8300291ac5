package parameter

import "strings"

// Nearest returns the known name that is closest to name by edit distance, or
// "" when none is within a third of the name's length (two edits at least).
// Letter case and the choice among '_', '-' and ' ' do not count.
func Nearest(name string, known []string) string {
	fold := func(s string) string { return strings.NewReplacer("_", "-", " ", "-").Replace(strings.ToLower(s)) }
	best, limit := "", max(2, len(name)/3)
	for _, k := range known {
		if d := distance(fold(name), fold(k)); d <= limit && d < max(len(name), len(k)) {
			best, limit = k, d-1
		}
	}
	return best
}

// distance counts the insertions, deletions, substitutions and swaps of
// neighbours that turn a into b (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
