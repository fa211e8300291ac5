package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// cumulative and gauge make the two sorts of counter.
func cumulative(name, unit, doc string) Counter {
	return Counter{measure.Metric{Name: name, Unit: unit, Doc: doc}, true}
}

func gauge(name, unit, doc string) Counter {
	return Counter{measure.Metric{Name: name, Unit: unit, Doc: doc}, false}
}

// number reads a whole number that is not negative.
func number(b []byte) (float64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	n := uint64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return float64(n), true
}

// numbers reads the numbers that a line begins with, as many as fit into the array.
func numbers(line []byte, into []float64) []float64 {
	into = into[:0]
	for field := range bytes.FieldsSeq(line) {
		n, ok := number(field)
		if !ok || len(into) == cap(into) {
			break
		}
		into = append(into, n)
	}
	return into
}

// after returns the rest of the line that begins with a key.
func after(text []byte, key string) (rest []byte, found bool) {
	for line := range bytes.Lines(text) {
		if rest, found := bytes.CutPrefix(line, []byte(key)); found {
			return bytes.TrimSpace(rest), true
		}
	}
	return nil, false
}

// read reads a file of counters. Where it is absent, the machine lacks what it counts.
func read(ctx context.Context, m platform.Machine, name, what string) ([]byte, error) {
	text, err := m.ReadFile(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s (no %s): %w", m.Name(), what, name, errors.ErrUnsupported)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: read %s: %w", m.Name(), what, err)
	}
	return text, nil
}

// fromFile makes a source of one file, which a pure function parses.
func fromFile(name, what string, parse func(text []byte) (map[string]float64, error)) func(context.Context, Place) (Read, error) {
	return func(ctx context.Context, p Place) (Read, error) {
		return tried(ctx, func(ctx context.Context) (map[string]float64, error) {
			text, err := read(ctx, p.Machine, name, what)
			if err != nil {
				return nil, err
			}
			values, err := parse(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", p.Machine.Name(), name, err)
			}
			return values, nil
		})
	}
}

// tried is a reader that can read.
func tried(ctx context.Context, take Read) (Read, error) {
	_, err := take(ctx)
	return take, err
}

// observe makes a source of what a machine observes of itself.
func observe(what string, take func(context.Context, platform.Observer, Place) (map[string]float64, error)) func(context.Context, Place) (Read, error) {
	return func(ctx context.Context, p Place) (Read, error) {
		o, ok := p.Machine.(platform.Observer)
		if !ok {
			return nil, fmt.Errorf("%s does not report %s: %w", p.Machine.Name(), what, errors.ErrUnsupported)
		}
		return tried(ctx, func(ctx context.Context) (map[string]float64, error) { return take(ctx, o, p) })
	}
}
