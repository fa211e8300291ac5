package energy

import (
	"errors"
	"fmt"
	"time"
)

// Course is the energy of a host over time. The zero value is ready for use.
type Course struct {
	Gap time.Duration // longest time between two powers, for which the mean of both holds; 0 for any

	at     []time.Time
	joules []float64 // since the first reading
	last   Reading
	broken error // what cannot be added up
}

// Add enters a reading. A counter that is below the last one has begun again from 0, once: packages take many minutes for their range.
func (c *Course) Add(at time.Time, now Reading) {
	if c.broken != nil || len(c.at) > 0 && !at.After(c.at[len(c.at)-1]) {
		return
	}
	sum := 0.0
	if n := len(c.at); n > 0 {
		used, err := c.used(at.Sub(c.at[n-1]), now)
		if err != nil {
			c.broken = err
			return
		}
		sum = c.joules[n-1] + used
	}
	c.at, c.joules, c.last = append(c.at, at), append(c.joules, sum), now
}

// used is the energy in joules from the last reading to one that was taken some time later.
func (c *Course) used(later time.Duration, now Reading) (sum float64, err error) {
	if len(now.Counters) != len(c.last.Counters) {
		return 0, fmt.Errorf("there were %d counters of energy, then %d", len(c.last.Counters), len(now.Counters))
	}
	if len(now.Counters) == 0 {
		if c.Gap > 0 && later > c.Gap {
			return 0, fmt.Errorf("the power was not read for %.1f s", later.Seconds())
		}
		return (c.last.Watts + now.Watts) / 2 * later.Seconds(), nil
	}
	for i, n := range now.Counters {
		former := c.last.Counters[i]
		used := n.Joules - former.Joules
		if used < 0 {
			used += n.Range
		}
		switch {
		case n.Name != former.Name:
			return 0, fmt.Errorf("the counter of energy %s became %s", former.Name, n.Name)
		case used < 0:
			return 0, fmt.Errorf("the counter of energy %s ran backwards, from %g J to %g J", n.Name, former.Joules, n.Joules)
		}
		sum += used
	}
	return sum, nil
}

// slack is the share of a window that readings may leave out at each end: the first interval of a load, from which its beginning is
// told, may be reported late.
const slack = .05

// Watts is the mean power between two instants, linear between readings. Its error says why it is unknown.
func (c *Course) Watts(from, to time.Time) (float64, error) {
	n := len(c.at)
	some := time.Duration(slack * float64(to.Sub(from)))
	switch {
	case c.broken != nil:
		return 0, c.broken
	case !to.After(from):
		return 0, errors.New("the window is empty")
	case n < 2 || from.Add(some).Before(c.at[0]) || to.Add(-some).After(c.at[n-1]):
		return 0, fmt.Errorf("the window is not covered by the readings, which are %d", n)
	}
	if from.Before(c.at[0]) {
		from = c.at[0]
	}
	if last := c.at[n-1]; to.After(last) {
		to = last
	}
	return (c.by(to) - c.by(from)) / to.Sub(from).Seconds(), nil
}

// by is the energy until an instant between the first and the last reading.
func (c *Course) by(at time.Time) float64 {
	i := 1
	for i < len(c.at)-1 && c.at[i].Before(at) {
		i++
	}
	share := at.Sub(c.at[i-1]).Seconds() / c.at[i].Sub(c.at[i-1]).Seconds()
	return c.joules[i-1] + share*(c.joules[i]-c.joules[i-1])
}
