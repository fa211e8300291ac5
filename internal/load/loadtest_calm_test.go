package load_test

import (
	"errors"
	"testing"
	"time"

	"plimsoll/internal/load/loadtest"
)

// told counts what a test is told.
type told struct {
	testing.TB
	errors int
}

func (t *told) Helper()               {}
func (t *told) Logf(string, ...any)   {}
func (t *told) Errorf(string, ...any) { t.errors++ }

func TestCalm(t *testing.T) {
	for _, c := range []struct {
		good, calls, errors int
		over                time.Duration
	}{{1, 1, 0, 0}, {5, 5, 0, 0}, {6, 5, 1, 0}, {6, 6, 0, time.Hour}} {
		to, calls := &told{TB: t}, 0
		loadtest.CalmWithin(to, c.over, func() error {
			if calls++; calls < c.good {
				return errors.New("late")
			}
			return nil
		})
		if calls != c.calls || to.errors != c.errors {
			t.Errorf("%+v: %d rounds, %d errors", c, calls, to.errors)
		}
	}
}
