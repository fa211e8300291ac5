package collect

import "plimsoll/internal/hoststat"

// Memory reports memory usage.
func Memory() Source {
	return Source{
		Name: "memory",
		Doc:  "memory usage, from /proc/meminfo",
		Counters: []Counter{
			gauge("memory.available", "B", "memory available without swapping"),
			gauge("memory.cached", "B", "page cache"),
			gauge("memory.dirty", "B", "dirty page cache"),
			gauge("memory.writeback", "B", "page cache under writeback"),
			gauge("memory.huge_pages", "B", "anonymous memory in transparent huge pages"),
			gauge("memory.swap.used", "B", "swap space used"),
		},
		Needs: []string{"memory"},
		Host: flat(func(i *hoststat.Interval, values map[string]float64) {
			for _, m := range memoryNames {
				if v, ok := i.Memory[m.key]; ok {
					values[m.name] = v
				}
			}
			if total, ok := i.Memory["SwapTotal"]; ok {
				values["memory.swap.used"] = max(0, total-i.Memory["SwapFree"])
			}
		}),
	}
}

var memoryNames = []struct{ key, name string }{
	{"MemAvailable", "memory.available"}, {"Cached", "memory.cached"}, {"Dirty", "memory.dirty"}, {"Writeback", "memory.writeback"},
	{"AnonHugePages", "memory.huge_pages"},
}
