package counter

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// span is the interval of a sample: a length, and the end by the vCenter's clock.
type span struct {
	end    time.Time
	length time.Duration
}

func (s span) begin() time.Time { return s.end.Add(-s.length) }

// longest is the maximum length of a sample: those of a yearly archive last a day.
const longest = 24 * time.Hour

// parseSpans parses the times of samples: pairs of a length in seconds and the end.
func parseSpans(text string) ([]span, error) {
	if text == "" {
		return nil, nil
	}
	fields := strings.Split(text, ",")
	if len(fields)%2 != 0 {
		return nil, fmt.Errorf("the times of samples are %d fields: must be pairs of seconds and a time", len(fields))
	}
	spans := make([]span, 0, len(fields)/2)
	for i := 0; i < len(fields); i += 2 {
		seconds, err := strconv.Atoi(fields[i])
		if err != nil || seconds <= 0 || seconds > int(longest.Seconds()) {
			return nil, fmt.Errorf("sample %d lasts %.40q seconds: must be 1 to %.0f", i/2+1, fields[i], longest.Seconds())
		}
		end, err := time.Parse(time.RFC3339, fields[i+1])
		if err != nil {
			return nil, fmt.Errorf("sample %d ends at %.40q: not a time", i/2+1, fields[i+1])
		}
		spans = append(spans, span{end, time.Duration(seconds) * time.Second})
	}
	return spans, nil
}

// parseValues parses the values of a number of samples. A missing or negative one, which is
// the vCenter's mark for none, becomes NaN.
func parseValues(text string, n int) ([]float64, error) {
	if text == "" && n == 0 {
		return nil, nil
	}
	fields := strings.Split(text, ",")
	if len(fields) != n {
		return nil, fmt.Errorf("%d values of %d samples", len(fields), n)
	}
	values := make([]float64, n)
	for i, field := range fields {
		if field == "" {
			values[i] = math.NaN()
			continue
		}
		v, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("value %d is %.40q, not an integer", i+1, field)
		}
		if values[i] = float64(v); v < 0 {
			values[i] = math.NaN()
		}
	}
	return values, nil
}
