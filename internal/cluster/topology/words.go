package topology

import (
	"fmt"
	"strconv"
	"strings"
)

// count is a number of things for people: "1 core", "2 cores".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// list is the sizes of nodes for people: "2 x 18", "11 + 10".
func list(s []int) string {
	if len(s) > 0 && !spreads(s) {
		return fmt.Sprintf("%d x %d", len(s), s[0])
	}
	var words []string
	for _, n := range s {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, " + ")
}

func andMore(n int) string {
	if n < 1 {
		return ""
	}
	return fmt.Sprintf(" and so are %d more", n)
}
