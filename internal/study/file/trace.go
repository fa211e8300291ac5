package file

import (
	"path/filepath"

	"plimsoll/internal/document"
	"plimsoll/internal/load"
	"plimsoll/internal/study"
)

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
func (r *reader) covered(s *study.Study) {
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
	if f, err := load.ParseTraceFile(s.Workload.Settings[study.TraceSetting]); err == nil && s.Load.Rate == 0 {
		s.Load.Rate = f.Rate()
	}
}
