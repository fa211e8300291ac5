package remote

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/platform"
)

var (
	_ platform.Clocked = (*Machine)(nil)
	_ platform.Clocked = (*Lasting)(nil)
)

// Property: for any clock, the measured offset is within its bound of the true one, and the
// bound is small if the round trip is short.
func TestTheOffsetOfAClockIsWithinItsBound(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, 5 * time.Second, -5 * time.Second, 1234567 * time.Microsecond, -40 * 365 * 24 * time.Hour} {
		p := connected(t, Server{Machine: &echo{}, Now: func() time.Time { return time.Now().Add(ahead) }}, Client{})
		offset, uncertainty, err := p.m.Offset(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if off := (offset - ahead).Abs(); off > uncertainty {
			t.Errorf("%v ahead: measured %v ± %v", ahead, offset, uncertainty)
		}
		if uncertainty <= 0 || uncertainty > time.Second {
			t.Errorf("over a pipe the offset is known to ± %v", uncertainty)
		}
	}
}

// A reading that is late on one way alone is still within the bound, and one quick round
// trip among slow ones is enough for a small bound.
func TestAnOffsetThroughADelayedWay(t *testing.T) {
	t.Parallel()
	const ahead = 3 * time.Second
	var asked atomic.Int64
	now := func() time.Time {
		read := time.Now().Add(ahead)
		if asked.Add(1) != 9 { // the answer is held up after the clock was read
			<-time.After(3*time.Millisecond + rand.N(3*time.Millisecond))
		}
		return read
	}
	p := connected(t, Server{Machine: &echo{}, Now: now}, Client{})
	offset, uncertainty, err := p.m.Offset(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if off := (offset - ahead).Abs(); off > uncertainty {
		t.Errorf("measured %v ± %v, true is %v", offset, uncertainty, ahead)
	}
	if n := asked.Load(); n != probes {
		t.Errorf("%d round trips, want %d", n, probes)
	}
}

// A clock that is set while it is read gives no offset; afterwards it has its new one.
func TestAClockThatIsSetWhileItIsRead(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{time.Hour, -time.Hour, 2 * time.Second, -2 * time.Second} {
		var asked atomic.Int64
		now := func() time.Time {
			if asked.Add(1) > probes/2 {
				return time.Now().Add(step)
			}
			return time.Now()
		}
		p := connected(t, Server{Machine: &echo{}, Now: now}, Client{})
		if offset, _, err := p.m.Offset(t.Context()); err == nil || !strings.Contains(err.Error(), "the clock of machine echo was stepped by about") {
			t.Errorf("%v: offset %v, %v", step, offset, err)
		}
		if offset, uncertainty, err := p.m.Offset(t.Context()); err != nil || (offset-step).Abs() > uncertainty {
			t.Errorf("%v: afterwards %v ± %v, %v", step, offset, uncertainty, err)
		}
	}
}

// A lab that is cut off learns that, and no offset.
func TestNoOffsetWithoutAConnection(t *testing.T) {
	p := connected(t, Server{Machine: &echo{}}, Client{})
	if err := p.m.Close(); err != nil {
		t.Fatal(err)
	}
	if offset, _, err := p.m.Offset(t.Context()); err == nil {
		t.Errorf("offset %v of a machine that is gone", offset)
	}
}
