package hoststat

import (
	"errors"
	"io/fs"

	"plimsoll/internal/hoststat/psi"
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
			s.Pressure = map[string]psi.Pressure{}
		}
		s.Pressure[resource] = psi.Parse(text)
	}
	return missing
}
