package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
)

// Pressure reports pressure stall information (PSI).
func Pressure() Source {
	return Source{
		Name: "pressure",
		Doc:  "pressure stall information (PSI), from /proc/pressure",
		Counters: []Counter{
			cumulative("pressure.cpu.some", "1", "share of time in which some task waited for a CPU"),
			cumulative("pressure.io.some", "1", "share of time in which some task waited for I/O"),
			cumulative("pressure.io.full", "1", "share of time in which all non-idle tasks waited for I/O"),
			cumulative("pressure.memory.some", "1", "share of time in which some task waited for memory"),
		},
		Open: func(ctx context.Context, p Env) (Read, error) {
			return tried(ctx, func(ctx context.Context) (map[string]float64, error) {
				values := make(map[string]float64, 4)
				for _, resource := range pressures {
					text, err := read(ctx, p.Machine, "/proc/pressure/"+resource.name, "pressure stall information; it may need psi=1 on the kernel's command line")
					if err != nil {
						return nil, err
					}
					if err := parsePressure(text, resource.kinds, "pressure."+resource.name+".", values); err != nil {
						return nil, fmt.Errorf("%s: /proc/pressure/%s: %w", p.Machine.Name(), resource.name, err)
					}
				}
				return values, nil
			})
		},
	}
}

var pressures = []struct {
	name  string
	kinds []string
}{{"cpu", []string{"some"}}, {"io", []string{"some", "full"}}, {"memory", []string{"some"}}}

// parsePressure parses the totals, which are in microseconds.
func parsePressure(text []byte, kinds []string, prefix string, values map[string]float64) error {
	for _, kind := range kinds {
		line, _ := after(text, kind+" ")
		_, total, found := bytes.Cut(line, []byte("total="))
		n, ok := number(total)
		if !found || !ok {
			return errors.New("no total of " + kind)
		}
		values[prefix+kind] = n * 1e-6
	}
	return nil
}
