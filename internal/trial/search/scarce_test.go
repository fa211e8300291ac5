package search

import (
	"testing"

	"plimsoll/internal/measure"
)

func TestWhatProcessesWaitedFor(t *testing.T) {
	t.Parallel()
	waited := func(cpu, memory, io float64) map[string]float64 {
		return map[string]float64{"waited.cpu": cpu, "waited.memory": memory, "waited.io": io, "mean": 9}
	}
	for want, probes := range map[string][]measure.Probe{
		"": {{Passed: true, Values: waited(.9, .1, .1)}, {Values: map[string]float64{"mean": 9}}},
		"; processes waited for a CPU 72 % of the time":  {{Values: waited(0, .9, 0)}, {Values: waited(.72, .1, .2)}, {Passed: true, Values: waited(0, .5, 0)}},
		"; processes waited for memory 60 % of the time": {{Values: waited(.3, .6, .2)}, {Invalid: true, Values: waited(.9, 0, 0)}},
		"; processes waited for I/O 50 % of the time":    {{Values: waited(.3, .1, .5)}},
	} {
		s := &Search{Record: &measure.Record{Probes: probes}}
		if got := s.scarce(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
