package parts

import (
	"slices"
	"testing"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/trial/drive"
)

// The rate of each server is that of the window, and one server has none of its own.
func TestServerRates(t *testing.T) {
	in := func(from int, shares ...int64) measure.Interval {
		return measure.Interval{From: time.Duration(from) * time.Second, To: time.Duration(from+2) * time.Second, Shares: shares}
	}
	all := []measure.Interval{in(0, 900, 900), in(2, 40, 10), in(4, 20, 30)}
	if got := serverRates(all, measure.Window{Cut: 2, End: 6}); !slices.Equal(got, []float64{15, 10}) {
		t.Errorf("got %v", got)
	}
	if got := serverRates([]measure.Interval{in(0)}, measure.Window{End: 2}); got != nil {
		t.Errorf("of one server: %v", got)
	}
	if n := drive.ServersAsked(all); n != 2 {
		t.Errorf("%d servers were asked", n)
	}
	if n := drive.ServersAsked(nil); n != 1 {
		t.Errorf("without a load %d servers were asked", n)
	}
}
