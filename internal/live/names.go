package live

import "fmt"

// Unique makes names of VMs or hosts unique for the model: duplicates get the identifier of
// the platform, as in "web (vm-42)". Identifiers are unique.
func Unique(names, identifiers []string) []string {
	out := append([]string(nil), names...)
	for {
		count := map[string]int{}
		for _, name := range out {
			count[name]++
		}
		if len(count) == len(out) {
			return out
		}
		for i, name := range out {
			if count[name] > 1 {
				out[i] = fmt.Sprintf("%s (%s)", name, identifiers[i])
			}
		}
	}
}
