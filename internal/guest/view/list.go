package view

import (
	"fmt"

	"plimsoll/internal/platform"
)

// List reads a CPU list as the kernel writes it, such as "0-3,8", into ascending
// numbers. An empty list has none.
func List(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	return platform.ParseCPUs(s)
}

// Span writes a range of numbers as the kernel does.
func Span(first, last int) string {
	if first == last {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}
