package parts

import (
	"slices"
	"testing"

	"plimsoll/internal/measure"
)

// The record and the certificate tell which counters were read too seldom.
func TestSeldomReadIsRecorded(t *testing.T) {
	a := &Parts{Record: &measure.Record{}}
	a.enterSeldom([]string{"n"}, 0)
	a.enterSeldom([]string{"n"}, 0)
	if want := "not read in the window, which is too seldom"; !slices.Equal(a.Record.Missing, []string{"counters: " + want}) || a.Seldom["n"] != want {
		t.Errorf("the record says %q, the certificate is told %v", a.Record.Missing, a.Seldom)
	}
}
