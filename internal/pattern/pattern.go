// Package pattern holds regular expressions that are compiled at their first use. Most runs of a program use few of
// them, and all would be compiled whenever it starts.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern gives the compiled expression.
type Pattern func() *regexp.Regexp

// Of is the pattern of an expression, which must be a valid one: its first use panics otherwise.
func Of(expression string) Pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
