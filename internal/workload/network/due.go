package network

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"plimsoll/internal/load"
)

// offered is how the settings offer what is due.
func (p Parameters) offered() (load.Arrivals, error) {
	a := load.Arrivals{Rate: float64(p.Rate), Poisson: p.Arrivals == "poisson"}
	if p.Shape == "" {
		return a, nil
	}
	return a, fmt.Errorf("shape: %q cannot be read yet", p.Shape)
}

// dues gives the instants at which the messages of one thread are due: those of the
// whole schedule whose number is the shard's.
type dues struct {
	arrivals load.Arrivals
	shard    load.Shard
	number   int64
	at       float64 // of a Poisson process of rate 1, the latest arrival
	random   *rand.Rand
}

func newDues(a load.Arrivals, seed uint64, shard load.Shard) *dues {
	return &dues{arrivals: a, shard: shard, number: int64(shard.Index), random: rand.New(rand.NewPCG(seed, 0x6475657))}
}

// next is the next instant, since the origin of the stage. They never fall.
func (d *dues) next() time.Duration {
	if !d.arrivals.Poisson {
		due := d.instant(float64(d.number))
		d.number += int64(d.shard.Count)
		return due
	}
	// All shards draw the whole process, so that together they are one.
	for {
		d.at += d.random.ExpFloat64()
		mine := d.number%int64(d.shard.Count) == 0
		d.number++
		if mine {
			return d.instant(d.at)
		}
	}
}

// instant is when n messages are due.
func (d *dues) instant(n float64) time.Duration {
	n /= d.arrivals.Rate
	if d.arrivals.Shape != nil {
		return d.arrivals.Shape.At(n)
	}
	return time.Duration(math.Round(n * 1e9))
}
