package load

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ParseShape parses the shape of a rate over a stage. Its numbers are multiples of the rate at
// the origin:
//
// ramp to 5 over 60s from 1 to 5 times the rate, then constant
// steps 1 for 10s, 2 for 10s one after the other; the last one continues
// sine 20% every 10s amplitude and period, beginning upwards
func ParseShape(text string) (Shape, error) {
	kind, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	parse, ok := map[string]func(string) (Shape, error){"ramp": parseRamp, "steps": parseSteps, "sine": parseSine}[kind]
	if !ok {
		return nil, fmt.Errorf("unknown shape %q; must be ramp, steps or sine", text)
	}
	s, err := parse(strings.TrimSpace(rest))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return s, nil
}

// mostMultiple is the largest multiple of a rate.
const mostMultiple = 1e6

func parseMultiple(text string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || !(v >= 0) || v > mostMultiple {
		return 0, fmt.Errorf("%q is not a multiple of the rate, like 2 or 0.5", strings.TrimSpace(text))
	}
	return v, nil
}

func parseSpan(text string) (time.Duration, error) {
	d, err := time.ParseDuration(strings.TrimSpace(text))
	if err != nil || d < time.Microsecond {
		return 0, fmt.Errorf("%q is not a time with its unit, like 10s", strings.TrimSpace(text))
	}
	return d, nil
}

// ramp is linear from 1 to a multiple of the rate, then constant.
type ramp struct {
	to   float64
	over time.Duration
}

func parseRamp(text string) (Shape, error) {
	rest, found := strings.CutPrefix(text, "to ")
	to, over, both := strings.Cut(rest, " over ")
	if !found || !both {
		return nil, errors.New("expected ramp to MULTIPLE over TIME, such as ramp to 5 over 60s")
	}
	r := ramp{}
	var err error
	if r.to, err = parseMultiple(to); err != nil {
		return nil, err
	}
	r.over, err = parseSpan(over)
	return r, err
}

func (r ramp) String() string { return fmt.Sprintf("ramp to %g over %s", r.to, r.over) }

func (r ramp) Expected(t time.Duration) float64 {
	x, d := t.Seconds(), r.over.Seconds()
	if x > d {
		return (1+r.to)/2*d + r.to*(x-d)
	}
	return x + (r.to-1)*x*x/(2*d)
}

// At solves x + (to-1) x^2 / 2d = n, in the form without cancellation.
func (r ramp) At(n float64) float64 {
	d := r.over.Seconds()
	if whole := (1 + r.to) / 2 * d; n > whole {
		return d + (n-whole)/r.to
	}
	return 2 * n / (1 + math.Sqrt(max(0, 1+2*(r.to-1)*n/d)))
}

// steps are multiples of the rate, each for its time.
type steps []step

type step struct {
	rate float64
	time time.Duration
}

func parseSteps(text string) (Shape, error) {
	var s steps
	for part := range strings.SplitSeq(text, ",") {
		rate, span, found := strings.Cut(part, " for ")
		if !found {
			return nil, errors.New("expected steps MULTIPLE for TIME, ..., such as steps 1 for 10s, 2 for 10s")
		}
		var one step
		var err error
		if one.rate, err = parseMultiple(rate); err != nil {
			return nil, err
		}
		if one.time, err = parseSpan(span); err != nil {
			return nil, err
		}
		s = append(s, one)
	}
	if !slices.ContainsFunc(s, func(one step) bool { return one.rate > 0 }) {
		return nil, errors.New("all steps are 0: one must be greater")
	}
	return s, nil
}

func (s steps) String() string {
	parts := make([]string, len(s))
	for i, one := range s {
		parts[i] = fmt.Sprintf("%g for %s", one.rate, one.time)
	}
	return "steps " + strings.Join(parts, ", ")
}

func (s steps) Expected(t time.Duration) (n float64) {
	for i, one := range s {
		if t <= one.time || i == len(s)-1 {
			return n + one.rate*t.Seconds()
		}
		n += one.rate * one.time.Seconds()
		t -= one.time
	}
	return n
}

func (s steps) At(n float64) float64 {
	at := 0.
	for i, one := range s {
		due := one.rate * one.time.Seconds()
		if n < due || i == len(s)-1 && one.rate > 0 {
			return at + n/one.rate
		}
		n -= due
		at += one.time.Seconds()
	}
	return math.Inf(1)
}

// sine oscillates around the rate.
type sine struct {
	percent float64 // of the rate, at most 100
	period  time.Duration
}

func parseSine(text string) (Shape, error) {
	share, period, found := strings.Cut(text, " every ")
	number, percent := strings.CutSuffix(strings.TrimSpace(share), "%")
	v, err := strconv.ParseFloat(number, 64)
	if !found || !percent || err != nil || !(v >= 0 && v <= 100) {
		return nil, errors.New("expected sine SHARE every TIME, such as sine 20% every 10s")
	}
	s := sine{percent: v}
	s.period, err = parseSpan(period)
	return s, err
}

func (s sine) String() string { return fmt.Sprintf("sine %g%% every %s", s.percent, s.period) }

// Expected is the integral of 1 + share sin(wx).
func (s sine) Expected(t time.Duration) float64 {
	share, w := s.percent/100, 2*math.Pi/s.period.Seconds()
	return t.Seconds() + share/w*(1-math.Cos(w*t.Seconds()))
}

// At inverts within one period, by Newton's method: whole periods have as many operations as
// without the wave. The integral is between x and x + 2 share/w; a step that leaves the
// remaining bracket is replaced by bisection.
func (s sine) At(n float64) float64 {
	share, period := s.percent/100, s.period.Seconds()
	w := 2 * math.Pi / period
	begin := period * math.Floor(n/period)
	n = max(0, n-begin)
	near := 1e-10 + 1e-15*period
	low, high := max(0, n-2*share/w), n
	x := n - share/w*(1-math.Cos(w*n))
	for range 100 {
		sin, cos := math.Sincos(w * x)
		over := x + share/w*(1-cos) - n
		if over < 0 {
			low = x
		} else {
			high = x
		}
		next := x - over/(1+share*sin)
		if !(next >= low && next <= high) {
			next = (low + high) / 2
		}
		if math.Abs(next-x) < near {
			return begin + next
		}
		x = next
	}
	return begin + x
}
