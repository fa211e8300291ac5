package machines

import (
	"cmp"
	"slices"
	"strings"

	"plimsoll/internal/measure"
)

// StateFile is the name of the file beside a record with the state of a machine over the load; the
// name of the first machine of the subject is empty.
func StateFile(machine string) string {
	if machine == "" {
		return "host.json"
	}
	return "host-" + machine + ".json"
}

// StateFiles are those of a trial: the first machine of the subject comes first, the host of guests
// last.
func StateFiles(r *measure.Record) (names []string) {
	for name := range r.Files {
		if name == StateFile("") || strings.HasPrefix(name, "host-") && strings.HasSuffix(name, ".json") {
			names = append(names, name)
		}
	}
	place := map[string]int{StateFile(""): -1, StateFile(HostName): 1}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(place[a], place[b]), cmp.Compare(a, b)) })
	return names
}
