package responder

import (
	"testing"
	"time"

	"plimsoll/internal/parameter"
)

// A token bucket admits its burst at once, and then its rate. Other requests are refused
// unless they wait.
func TestCredit(t *testing.T) {
	const ms = time.Millisecond
	q := newQueue(Settings{Law: "none", Sustained: 100, Burst: 5}, 1)
	for i, want := range []time.Duration{0, 0, 0, 0, 0, 10 * ms, 20 * ms} {
		if got := q.departure(0); got != want {
			t.Errorf("request %d of a burst leaves at %s, not %s", i+1, got, want)
		}
	}
	if got := q.departure(time.Second); got != time.Second {
		t.Errorf("after a pause it leaves at %s", got)
	}
	q = newQueue(Settings{Law: "none", Reject: 100}, 1)
	refused := 0
	for i := range 400 {
		if _, no := q.admit(time.Duration(i) * 5 * ms); no { // 200/s for 2 s
			refused++
		}
	}
	if refused < 185 || refused > 195 { // half of them, but for a tenth of a second's credit
		t.Errorf("%d of 400 were refused", refused)
	}
}

func TestIrregularStalls(t *testing.T) {
	q := newQueue(Settings{Law: "none", Irregular: true, Stall: parameter.Duration(50 * time.Millisecond), Period: parameter.Duration(time.Second)}, 1)
	late, last := 0, time.Duration(0)
	const n = 200_000
	for i := range n {
		at := time.Duration(i) * time.Millisecond
		got := q.departure(at)
		if got < at || got < last || got > at+50*time.Millisecond {
			t.Fatalf("arrived at %s, left at %s", at, got)
		}
		if last = got; got > at {
			late++
		}
	}
	if share := float64(late) / n; share < .04 || share > .06 {
		t.Errorf("%.3f of the time was a stall, want 0.05", share)
	}
}

func TestQueueLimitAndSpeed(t *testing.T) {
	second := parameter.Duration(time.Second)
	q := newQueue(Settings{Law: "fixed", Service: parameter.Duration(10 * time.Millisecond), Servers: 1, Queue: 3}, 1)
	admitted := 0
	for range 10 {
		if _, refused := q.admit(0); !refused {
			admitted++
		}
	}
	if admitted != 4 {
		t.Errorf("%d of 10 at once were admitted to 1 in service and 3 waiting", admitted)
	}
	slow := newQueue(Settings{Law: "fixed", Service: second, Servers: 1, Slowing: 1}, 1)
	if got := slow.departure(time.Minute); got != time.Minute+2*time.Second {
		t.Errorf("after a minute of slowing by 100 %% service ends at %s", got)
	}
	cold := newQueue(Settings{Law: "fixed", Service: second, Servers: 1, Cold: second}, 1)
	if got := cold.departure(0); got != 4*time.Second {
		t.Errorf("a cold server takes %s", got)
	}
}
