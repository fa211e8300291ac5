package topology

import (
	"fmt"
	"strconv"
	"strings"
)

// count is a number of things as text: "1 core", "2 cores".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// list is the sizes of nodes as text: "2 x 18", "11 + 10", "2 x 12 + 6 x 11".
func list(s []int) string {
	var words []string
	for i := 0; i < len(s); {
		run := 1
		for i+run < len(s) && s[i+run] == s[i] {
			run++
		}
		word := strconv.Itoa(s[i])
		if run > 1 {
			word = fmt.Sprintf("%d x %d", run, s[i])
		}
		words = append(words, word)
		i += run
	}
	return strings.Join(words, " + ")
}

func andMore(n int) string {
	if n < 1 {
		return ""
	}
	return fmt.Sprintf(" and so are %d more", n)
}
