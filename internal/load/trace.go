package load

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// mostTraced is the largest number of instants in a trace.
const mostTraced = 50_000_000

// readTrace parses a trace: seconds since the origin, one per line, ascending. Empty lines,
// and lines that begin with #, are skipped. Its errors name the line.
func readTrace(in io.Reader) ([]time.Duration, error) {
	var trace []time.Duration
	lines := bufio.NewScanner(in)
	n := 1
	for ; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds >= 0) || seconds > math.MaxInt64/1e9/2 {
			return nil, &traceError{n, fmt.Errorf("%.40q is not a time in seconds from 0", text)}
		}
		due := instant(seconds)
		if len(trace) > 0 && due < trace[len(trace)-1] {
			return nil, &traceError{n, fmt.Errorf("%s s is before the time of the previous line", text)}
		}
		if len(trace) == mostTraced {
			return nil, &traceError{n, fmt.Errorf("a trace has at most %d times", mostTraced)}
		}
		trace = append(trace, due)
	}
	if err := lines.Err(); err != nil {
		return nil, &traceError{n, err}
	}
	if len(trace) == 0 {
		return nil, fmt.Errorf("a trace must have at least one time")
	}
	return trace, nil
}

// traceError is the error of a line of a trace.
type traceError struct {
	line int // from 1
	err  error
}

func (e *traceError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *traceError) Unwrap() error { return e.err }
