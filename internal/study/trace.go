package study

import (
	"plimsoll/internal/load"
)

// TraceSetting is the setting of a workload with a trace file of due times. A study gives the
// path relative to its folder or, in an override, to the working directory. The parsed setting
// also identifies the content of the file.
const TraceSetting = "trace"

// CheckTraces returns an error if a trace of the study was changed since it was read.
func (s *Study) CheckTraces() error {
	all := []string{s.Workload.Settings[TraceSetting]}
	for _, f := range s.Factors {
		if f.Parameter == TraceSetting && !f.OfService {
			all = append(all, f.Levels...)
		}
	}
	for _, text := range all {
		f, err := load.ParseTraceFile(text)
		if err != nil {
			continue // the workload has none
		}
		if err := f.Check(); err != nil {
			return err
		}
	}
	return nil
}
