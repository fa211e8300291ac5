package hoststat

import (
	"bytes"
	"errors"
	"slices"

	"plimsoll/internal/hoststat/parse"
)

// readSoftIRQs reads /proc/softirqs.
func readSoftIRQs(r *Reader, s *State) error {
	text, err := r.file("proc/softirqs")
	if err != nil {
		return err
	}
	s.SoftIRQs = map[string][]float64{}
	for line := range bytes.Lines(text) {
		name, rest, found := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		if counts := parse.Numbers(nil, rest); found && len(counts) > 0 {
			s.SoftIRQs[string(name)] = counts
		}
	}
	if len(s.SoftIRQs) == 0 {
		return errors.New("/proc/softirqs has no counts")
	}
	return nil
}

// mostIRQText bounds the text of /proc/interrupts, which grows with CPUs times devices.
const mostIRQText = 1 << 20

// readIRQs reads /proc/interrupts. Interrupts that never occurred are left out. The device is the text after the counts,
// with single spaces.
func readIRQs(r *Reader, s *State) error {
	text, err := r.file("proc/interrupts")
	if err != nil {
		return err
	}
	if len(text) > mostIRQText {
		return errors.New("/proc/interrupts is longer than 1 MiB, reading it would disturb the host")
	}
	header, rest, _ := bytes.Cut(text, []byte("\n"))
	columns := len(bytes.Fields(header))
	counts := make([]float64, 0, columns)
	for line := range bytes.Lines(rest) {
		name, rest, found := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		counts, rest = parse.Leading(counts[:0], rest)
		if !found || len(counts) > columns || !slices.ContainsFunc(counts, func(n float64) bool { return n > 0 }) {
			continue
		}
		s.IRQs = append(s.IRQs, IRQ{string(name), string(bytes.Join(bytes.Fields(rest), []byte(" "))), slices.Clone(counts)})
	}
	return nil
}
