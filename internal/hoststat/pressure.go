package hoststat

import (
	"bytes"
	"errors"
	"io/fs"
)

// readPressure reads /proc/pressure. A kernel with PSI may lack the irq file.
func readPressure(r *Reader, s *State) error {
	var missing error
	for _, resource := range []string{"cpu", "io", "memory", "irq"} {
		text, err := r.file("proc/pressure/" + resource)
		if err != nil {
			if resource != "irq" || !errors.Is(err, fs.ErrNotExist) {
				missing = err
			}
			continue
		}
		if s.Pressure == nil {
			s.Pressure = map[string]Pressure{}
		}
		s.Pressure[resource] = parsePressure(text)
	}
	return missing
}

func parsePressure(text []byte) Pressure {
	var p Pressure
	for line := range bytes.Lines(text) {
		_, total, found := bytes.Cut(line, []byte("total="))
		n, ok := number(total)
		switch {
		case !found || !ok:
		case bytes.HasPrefix(line, []byte("some")):
			p.Some = n * 1e-6
		case bytes.HasPrefix(line, []byte("full")):
			p.Full = n * 1e-6
		}
	}
	return p
}
