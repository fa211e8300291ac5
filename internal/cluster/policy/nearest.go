package policy

import (
	"fmt"
	"maps"
	"slices"

	"plimsoll/internal/parameter"
)

// nearest suggests a known name similar to the given one; empty if there is none.
func nearest[V any](name string, known map[string]V) string {
	best := parameter.Nearest(name, slices.Sorted(maps.Keys(known)))
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": is it %q?", best)
}
