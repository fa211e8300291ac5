package platform

import (
	"context"
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

// Size is the number of CPUs and the memory of a machine in bytes; 0 where it does not tell.
func Size(ctx context.Context, m Machine) (cpus int, memory int64) {
	if text, err := m.ReadFile(ctx, "/proc/stat"); err == nil {
		for line := range strings.Lines(string(text)) {
			if len(line) > 3 && strings.HasPrefix(line, "cpu") && line[3] != ' ' {
				cpus++
			}
		}
	}
	if text, err := m.ReadFile(ctx, "/proc/meminfo"); err == nil {
		memory, _ = Meminfo(text, "MemTotal")
	}
	return cpus, memory
}
