package energy

import "time"

// Course is the energy of a host over time. The zero value is ready for use.
type Course struct {
	at     []time.Time
	joules []float64 // since the first reading
	last   []Package
	broken bool // packages came or went, or a counter ran backwards
}

// Add enters a reading. A counter that is below the last one has begun again from 0, once: packages take many minutes for their range.
func (c *Course) Add(at time.Time, now []Package) {
	if c.broken || len(now) == 0 || len(c.at) > 0 && !at.After(c.at[len(c.at)-1]) {
		return
	}
	sum := 0.0
	if len(c.joules) > 0 {
		sum = c.joules[len(c.joules)-1]
		c.broken = len(now) != len(c.last)
	}
	for i := 0; len(c.joules) > 0 && i < len(now) && !c.broken; i++ {
		used := now[i].Joules - c.last[i].Joules
		if used < 0 {
			used += now[i].Range
		}
		c.broken = used < 0 || now[i].Name != c.last[i].Name
		sum += used
	}
	if c.broken {
		return
	}
	c.at, c.joules, c.last = append(c.at, at), append(c.joules, sum), now
}

// Watts is the mean power of all packages between two instants, linear between readings. It is false unless readings cover them.
func (c *Course) Watts(from, to time.Time) (float64, bool) {
	n := len(c.at)
	if c.broken || n < 2 || !to.After(from) || from.Before(c.at[0]) || to.After(c.at[n-1]) {
		return 0, false
	}
	return (c.by(to) - c.by(from)) / to.Sub(from).Seconds(), true
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
