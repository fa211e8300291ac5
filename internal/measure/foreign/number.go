package foreign

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/pattern"
)

var (
	errImpossible = errors.New("is not a possible measurement")
	errNegative   = errors.New("cannot be negative")

	decimalComma = pattern.Of(`^[0-9.]+,[0-9]+$`)
)

// Number parses a measurement: finite, and not negative.
func Number(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && decimalComma().MatchString(text) {
		return 0, fmt.Errorf("%q has a decimal comma: run the tool in the C locale (LC_ALL=C)", text)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", shortened(text))
	}
	if err := measurable(v); err != nil {
		return 0, fmt.Errorf("%q %w", shortened(text), err)
	}
	return v, nil
}

// Count parses a number of events.
func Count(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of events", shortened(text))
	}
	if n < 0 {
		return 0, fmt.Errorf("%q %w", shortened(text), errNegative)
	}
	return n, nil
}

var durations = map[string]float64{"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}

// Seconds parses a duration with a unit, such as 1.25ms.
func Seconds(text string) (float64, error) { return scaled(text, durations) }

var sizes = map[string]float64{"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}

// Bytes parses a size with a unit in powers of 1024, such as 2.38MB.
func Bytes(text string) (float64, error) { return scaled(text, sizes) }

func scaled(text string, units map[string]float64) (float64, error) {
	at := strings.LastIndexAny(text, "0123456789.") + 1
	factor, ok := units[text[at:]]
	if !ok {
		return 0, fmt.Errorf("%q has no known unit", shortened(text))
	}
	v, err := Number(text[:at])
	return v * factor, err
}

// Duration converts seconds; what exceeds the type is its largest value.
func Duration(seconds float64) time.Duration {
	if seconds > math.MaxInt64/1e9/2 {
		return math.MaxInt64 / 2
	}
	return time.Duration(math.Round(seconds * 1e9))
}

// Events converts a number of events from JSON, where it may be written as 1e+06.
func Events(v float64) int64 {
	if !(math.Abs(v) < math.MaxInt64) {
		return 0
	}
	return int64(math.Round(v))
}

// shortened is a text of a file within a message.
func shortened(text string) string {
	const most = 40
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
