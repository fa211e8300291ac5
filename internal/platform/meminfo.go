package platform

import (
	"slices"
	"strconv"
	"strings"
)

// Meminfo reads a field of /proc/meminfo, or of that of a NUMA node, in bytes.
func Meminfo(text []byte, field string) (bytes int64, ok bool) {
	f := strings.Fields(string(text))
	i := slices.Index(f, field+":")
	if i < 0 || i+1 == len(f) {
		return 0, false
	}
	kib, err := strconv.ParseInt(f[i+1], 10, 53)
	if err != nil || kib < 0 {
		return 0, false
	}
	return kib << 10, true
}
