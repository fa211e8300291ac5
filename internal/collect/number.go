package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// cumulative and gauge construct the two kinds of counters.
func cumulative(name, unit, doc string) Counter {
	return Counter{measure.Metric{Name: name, Unit: unit, Doc: doc}, true}
}

func gauge(name, unit, doc string) Counter {
	return Counter{measure.Metric{Name: name, Unit: unit, Doc: doc}, false}
}

// number parses a non-negative integer.
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

// read reads a file of counters. If it is absent, the machine lacks the counters.
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

// tried returns a reader after a successful read.
func tried(ctx context.Context, take Read) (Read, error) {
	_, err := take(ctx)
	return take, err
}

// observe is a source that the machine reads itself.
func observe(what string, take func(context.Context, platform.Observer, Env) (map[string]float64, error)) func(context.Context, Env) (Read, error) {
	return func(ctx context.Context, p Env) (Read, error) {
		o, ok := p.Machine.(platform.Observer)
		if !ok {
			return nil, fmt.Errorf("%s does not report %s: %w", p.Machine.Name(), what, errors.ErrUnsupported)
		}
		return tried(ctx, func(ctx context.Context) (map[string]float64, error) { return take(ctx, o, p) })
	}
}
