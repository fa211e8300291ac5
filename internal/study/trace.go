package study

import (
	"path/filepath"

	"plimsoll/internal/document"
	"plimsoll/internal/load"
)

// TraceSetting is the setting of a workload with a trace file of due times. A study gives the
// path relative to its folder or, in an override, to the working directory. The parsed setting
// also identifies the content of the file.
const TraceSetting = "trace"

// traced is a trace with its position in the study.
type traced struct {
	node *document.Node
	file load.TraceFile
}

// trace reads the trace of a setting, and returns the setting's text with its identity.
func (r *reader) trace(n *document.Node, text string) (string, bool) {
	if f, err := load.ParseTraceFile(text); err == nil {
		text = f.Path // copied from plimsoll's output of a study
	}
	path := text
	if !n.Outside() && !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(r.in.Name), path)
	}
	f, _, err := load.FindTrace(path)
	if err == nil {
		f.Path, err = filepath.Abs(path)
	}
	if err != nil {
		r.in.Complain(n, "trace: %v", err)
		return "", false
	}
	if again, err := load.ParseTraceFile(f.String()); err != nil || again != f {
		r.in.Complain(n, "trace: %q is not a valid file name of a trace: use letters, digits and blanks", path)
		return "", false
	}
	r.traces = append(r.traces, traced{n, f})
	return f.String(), true
}

// covered rejects a trace that is shorter than a trial. Without measure.longest, a load that
// is not steady continues up to the end of its trace.
func (r *reader) covered(s *Study) {
	m := &s.Measure
	least, given := max(m.Warmup, 0)+m.Window, r.places["measure.longest"] != nil
	for _, t := range r.traces {
		switch {
		case s.Load.Peak != nil || s.Load.Growth != nil:
			r.in.Complain(t.node, "trace: a trace and a search for a peak or growth are mutually exclusive")
		case t.file.Span < least:
			r.in.Complain(t.node, "trace: %s ends after %s, and a trial loads for at least %s, warm-up and window: take a longer trace, or a shorter measure.window",
				filepath.Base(t.file.Path), t.file.Span, least)
		case given && t.file.Span < m.Longest:
			r.in.Complain(t.node, "trace: %s ends after %s, and a trial may load for %s (measure.longest): take a longer trace, or a shorter measure.longest",
				filepath.Base(t.file.Path), t.file.Span, m.Longest)
		case t.file.Span < m.Longest:
			m.Longest = t.file.Span
		}
	}
	if f, err := load.ParseTraceFile(s.Workload.Settings[TraceSetting]); err == nil && s.Load.Rate == 0 {
		s.Load.Rate = f.Rate()
	}
}

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
