package collect

import (
	"bytes"
	"errors"
)

// Memory tells what memory holds.
func Memory() Source {
	return Source{
		Name: "memory",
		Doc:  "use of memory, from /proc/meminfo",
		Counters: []Counter{
			gauge("memory.available", "B", "memory that programs can still get without swapping"),
			gauge("memory.cached", "B", "file contents held in memory"),
			gauge("memory.dirty", "B", "file contents that wait to be written"),
			gauge("memory.writeback", "B", "file contents that are being written"),
		},
		Open: fromFile("/proc/meminfo", "memory counts", parseMemory),
	}
}

func parseMemory(text []byte) (map[string]float64, error) {
	values := make(map[string]float64, 4)
	for line := range bytes.Lines(text) {
		key, rest, _ := bytes.Cut(line, []byte(":"))
		name := ""
		switch string(key) {
		case "MemAvailable":
			name = "memory.available"
		case "Cached":
			name = "memory.cached"
		case "Dirty":
			name = "memory.dirty"
		case "Writeback":
			name = "memory.writeback"
		default:
			continue
		}
		digits, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
		if n, ok := number(digits); ok {
			values[name] = n * 1024
		}
	}
	if len(values) == 0 {
		return nil, errors.New("no counts of memory")
	}
	return values, nil
}
