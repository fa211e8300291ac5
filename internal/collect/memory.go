package collect

import (
	"bytes"
	"errors"
)

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
		},
		Open: fromFile("/proc/meminfo", "memory counts", parseMemory),
	}
}

var memoryNames = map[string]string{"MemAvailable": "memory.available", "Cached": "memory.cached", "Dirty": "memory.dirty", "Writeback": "memory.writeback"}

func parseMemory(text []byte) (map[string]float64, error) {
	values := make(map[string]float64, 4)
	for line := range bytes.Lines(text) {
		key, rest, _ := bytes.Cut(line, []byte(":"))
		name := memoryNames[string(key)]
		if name == "" {
			continue
		}
		digits, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
		if n, ok := number(digits); ok {
			values[name] = n * 1024
		}
	}
	if len(values) == 0 {
		return nil, errors.New("no memory statistics")
	}
	return values, nil
}
