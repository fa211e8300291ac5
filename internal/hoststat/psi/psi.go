// Package psi parses pressure stall information, of a host and of control groups
// (Documentation/accounting/psi.rst).
package psi

import (
	"bytes"

	"plimsoll/internal/hoststat/parse"
)

// Pressure is the time in seconds in which some, or all, non-idle tasks waited for a resource.
type Pressure struct {
	Some float64 `json:"some"`
	Full float64 `json:"full"`
}

// Counters are the cumulative counters, in a fixed order.
func (p *Pressure) Counters() []*float64 { return []*float64{&p.Some, &p.Full} }

// Parse parses a file of a resource.
func Parse(text []byte) Pressure {
	var p Pressure
	for line := range bytes.Lines(text) {
		_, total, found := bytes.Cut(line, []byte("total="))
		n, ok := parse.Number(total)
		switch {
		case !found || !ok:
		case bytes.HasPrefix(line, []byte("some")):
			p.Some = n * 1e-6
		case bytes.HasPrefix(line, []byte("full")):
			p.Full = n * 1e-6
		}
	}
	return p
}
