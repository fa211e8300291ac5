package fabric

import (
	"math/rand/v2"
	"testing"
	"time"
)

// The true offset lies within the bound for any delays, and more round trips only narrow it.
func TestTheOffsetIsWithinItsBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		truth := time.Duration(rng.Int64N(int64(20*time.Second))) - 10*time.Second
		rate := 1 + (rng.Float64()*2-1)*drift // of the agent's clock
		start := time.Unix(1e9, 0)
		var o offsets
		at := time.Duration(0) // true time
		agent := func(d time.Duration) time.Time { return start.Add(time.Duration(float64(d) * rate)) }
		for range 1 + rng.IntN(40) {
			out, back := time.Duration(rng.ExpFloat64()*1e6), time.Duration(rng.ExpFloat64()*5e6)
			o.add(roundTrip{agent(at), start.Add(at + out + truth), start.Add(at + out + truth), agent(at + out + back)})
			at += out + back + time.Duration(rng.Int64N(int64(5*time.Second)))
		}
		offset, bound, ok := o.at(agent(at))
		now := start.Add(at + truth).Sub(agent(at))
		if off := (offset - now).Abs(); !ok || off > bound+time.Duration(2*drift*float64(time.Minute)/60)+10*time.Microsecond {
			t.Fatalf("offset %v, truly %v: wrong by %v, said to be at most %v", offset, now, off, bound)
		}
	}
}

func TestImpossibleRoundTripsDoNotCount(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	var o offsets
	for _, r := range []roundTrip{
		{at(0), at(100), at(90), at(10)},  // answered before it was seen
		{at(10), at(100), at(100), at(0)}, // received before it was sent
		{at(0), at(100), at(200), at(10)}, // more time at the lab than in total
	} {
		o.add(r)
	}
	if _, _, ok := o.at(at(0)); ok {
		t.Error("an offset was made of nothing")
	}
	o.add(roundTrip{at(0), at(5001), at(5001), at(2)})
	if offset, bound, _ := o.at(at(2)); offset != 5*time.Second || bound != time.Millisecond {
		t.Errorf("got %v ± %v", offset, bound)
	}
	if _, bound, _ := o.at(at(10_002)); bound != 2*time.Millisecond {
		t.Errorf("ten seconds later the bound is %v", bound)
	}
}
