package search

import (
	"testing"
	"time"
)

func TestIntervalsOfAProbe(t *testing.T) {
	for probe, want := range map[time.Duration]time.Duration{
		time.Second:       10 * time.Millisecond,
		30 * time.Second:  150 * time.Millisecond,
		5 * time.Minute:   500 * time.Millisecond,
		10 * time.Minute:  500 * time.Millisecond,
		100 * time.Minute: 5 * time.Second,
		48 * time.Hour:    144 * time.Second,
	} {
		if got := intervalOf(probe); got != want {
			t.Errorf("a probe of %s has intervals of %s; want %s", probe, got, want)
		}
	}
}
