package policy

import (
	"fmt"
	"maps"
	"slices"

	"plimsoll/internal/parameter"
)

// nearest suggests the known name that a name is probably meant to be, or is empty.
func nearest[V any](name string, known map[string]V) string {
	best := parameter.Nearest(name, slices.Sorted(maps.Keys(known)))
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": is it %q?", best)
}
