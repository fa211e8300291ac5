package load

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/charset"
)

// TraceFile is a trace in a file. Its text, the setting of a workload, identifies the content
// of the file when the study was read, so that a change is detected and the load is known
// without the file.
type TraceFile struct {
	Path  string
	Count int           // of operations
	Span  time.Duration // from the origin to the last of them
	Sum   string        // the first 16 digits of the SHA-256 of the file
}

// String is the text that ParseTraceFile reads.
func (f TraceFile) String() string {
	return fmt.Sprintf("%s (%d in %s, sha256 %s)", f.Path, f.Count, f.Span, f.Sum)
}

// ParseTraceFile reads the text of a TraceFile. It does not look at the file.
func ParseTraceFile(text string) (TraceFile, error) {
	path, count, span, sum, ok := summarized(text)
	if !ok {
		return TraceFile{}, fmt.Errorf("%q lacks the summary of the file, as in arrivals.txt (1200 in 1m0s, sha256 0123456789abcdef)", text)
	}
	f := TraceFile{Path: path, Sum: sum}
	var err error
	if f.Count, err = strconv.Atoi(count); err != nil || f.Count < 1 || f.Count > mostTraced {
		return TraceFile{}, fmt.Errorf("a trace has 1 to %d times, not %s", mostTraced, count)
	}
	if f.Span, err = time.ParseDuration(span); err != nil || f.Span < 0 {
		return TraceFile{}, fmt.Errorf("a trace does not end at %q", span)
	}
	return f, nil
}

// summarized splits the text of a TraceFile into its parts.
func summarized(text string) (path, count, span, sum string, ok bool) {
	at := strings.LastIndex(text, " (")
	if at < 1 {
		return "", "", "", "", false
	}
	path = text[:at]
	rest, closed := strings.CutSuffix(text[at+2:], ")")
	count, rest, counted := strings.Cut(rest, " in ")
	span, sum, summed := strings.Cut(rest, ", sha256 ")
	ok = closed && counted && summed && len(sum) == 16 && charset.Only(sum, charset.Hex) && charset.Only(count, charset.Digits) &&
		span != "" && !strings.ContainsAny(span, charset.Space) && !strings.Contains(path, "\n")
	return path, count, span, sum, ok
}

// FindTrace reads the trace in a file. Its errors name the file and the line.
func FindTrace(path string) (TraceFile, []time.Duration, error) {
	f := TraceFile{Path: path}
	// A pipe, for example, might never end.
	if about, err := os.Stat(path); err != nil {
		return f, nil, err
	} else if !about.Mode().IsRegular() {
		return f, nil, fmt.Errorf("%s is not a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return f, nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	sum := sha256.New()
	trace, err := readTrace(io.TeeReader(file, sum))
	var at *traceError
	if errors.As(err, &at) {
		return f, nil, fmt.Errorf("%s:%d: %w", path, at.line, at.err)
	}
	if err != nil {
		return f, nil, fmt.Errorf("%s: %w", path, err)
	}
	f.Count, f.Span, f.Sum = len(trace), trace[len(trace)-1], hex.EncodeToString(sum.Sum(nil))[:16]
	return f, trace, nil
}

// NameTrace parses the text of a TraceFile from the setting of a workload. It rejects settings
// that a trace excludes: rate, arrivals and shape of a, and think time. An empty text is no
// trace, and no error.
func NameTrace(text string, a Arrivals, pause time.Duration) (*TraceFile, error) {
	switch {
	case text == "":
		return nil, nil
	case a.Rate > 0:
		return nil, errors.New("rate and trace are mutually exclusive: a trace defines all due times")
	case a.Poisson || a.Shape != nil:
		return nil, errors.New("a trace defines all due times: omit shape and arrivals")
	case pause > 0:
		return nil, errors.New("think and trace are mutually exclusive: an open loop does not wait for responses")
	}
	f, err := ParseTraceFile(text)
	if err != nil {
		return nil, fmt.Errorf("trace: %w", err)
	}
	return &f, nil
}

// Rate is the mean rate of a trace, 1/s; 0 without one.
func (f *TraceFile) Rate() float64 {
	switch {
	case f == nil:
		return 0
	case f.Span == 0:
		return float64(f.Count)
	}
	return float64(f.Count) / f.Span.Seconds()
}

// Check reports whether the file is unchanged.
func (f *TraceFile) Check() error {
	_, err := f.Arrivals(Arrivals{})
	return err
}

// Arrivals returns a with the due times of the trace; without a trace, a itself. It returns an
// error if the file was changed.
func (f *TraceFile) Arrivals(a Arrivals) (Arrivals, error) {
	if f == nil {
		return a, nil
	}
	now, trace, err := FindTrace(f.Path)
	if err != nil {
		return a, fmt.Errorf("trace: %w", err)
	}
	if now.Sum != f.Sum {
		return a, fmt.Errorf("trace: %s has changed since the study was read (from %d operations in %s to %d in %s): restore the file, or start a new run",
			f.Path, f.Count, f.Span, now.Count, now.Span)
	}
	a.Trace = trace
	return a, nil
}
