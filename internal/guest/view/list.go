package view

import (
	"fmt"

	"plimsoll/internal/platform"
)

// List parses a CPU list in the kernel's notation, such as "0-3,8", into ascending numbers. An
// empty list has none.
func List(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	return platform.ParseCPUs(s)
}

// Span is a range of numbers in the kernel's notation.
func Span(first, last int) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}
