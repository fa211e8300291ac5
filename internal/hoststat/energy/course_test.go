package energy

import (
	"math"
	"strings"
	"testing"
	"time"
)

func counters(joules ...float64) Reading {
	names := []string{"package-0", "package-1"}
	var r Reading
	for i, j := range joules {
		r.Counters = append(r.Counters, Counter{names[i], j, 1000})
	}
	return r
}

type span struct{ from, to, want float64 }

// ask compares the mean power of some spans, in seconds since an instant.
func ask(t *testing.T, c *Course, began time.Time, spans []span) {
	t.Helper()
	for _, w := range spans {
		got, err := c.Watts(seconds(began, w.from), seconds(began, w.to))
		if err != nil || math.Abs(got-w.want) > 1e-6 {
			t.Errorf("from %g to %g: %g, %v, want %g", w.from, w.to, got, err, w.want)
		}
	}
}

func seconds(began time.Time, n float64) time.Time { return began.Add(time.Duration(n * 1e9)) }

func TestWattsOfCounters(t *testing.T) {
	began := time.Now()
	var c Course
	c.Add(seconds(began, 0), counters(100, 900))
	c.Add(seconds(began, 2), counters(200, 980))  // 90 W
	c.Add(seconds(began, 4), counters(300, 20))   // 100 + 40 J: the second counter began again
	c.Add(seconds(began, 4), counters(999, 999))  // not later
	c.Add(seconds(began, 6), counters(300, 20.5)) // .25 W
	ask(t, &c, began, []span{{0, 2, 90}, {2, 4, 70}, {0, 4, 80}, {1, 3, 80}, {4, 6, .25}, {.5, 1.5, 90}, {-.05, 2, 90}, {4, 6.05, .25}})
	for _, w := range [][2]float64{{-1, 2}, {2, 7}, {3, 3}, {4, 2}, {-.2, 2}, {4, 6.2}, {7, 8}} {
		if got, err := c.Watts(seconds(began, w[0]), seconds(began, w[1])); err == nil {
			t.Errorf("from %g to %g: %g", w[0], w[1], got)
		}
	}
}

// Between two readings of a power, the mean of both holds.
func TestWattsOfPowers(t *testing.T) {
	began := time.Now()
	c := Course{Gap: 2 * time.Second}
	for i, watts := range []float64{100, 200, 200, 0} {
		c.Add(seconds(began, float64(2*i)), Reading{Watts: watts})
	}
	ask(t, &c, began, []span{{0, 2, 150}, {2, 4, 200}, {0, 6, 150}, {4, 6, 100}})
}

// What cannot be added up is unknown, with the reason, and not a number.
func TestBroken(t *testing.T) {
	endless := func(name string, joules float64) Counter { return Counter{name, joules, 0} }
	for name, test := range map[string]struct {
		first, next Reading
		want        string
	}{
		"a package went":      {counters(100, 100), counters(200), "there were 2 counters of energy, then 1"},
		"another name":        {counters(100), Reading{Counters: []Counter{endless("package-2", 200)}}, "package-0 became package-2"},
		"backwards, no range": {Reading{Counters: []Counter{endless("pdu", 100)}}, Reading{Counters: []Counter{endless("pdu", 50)}}, "the counter of energy pdu ran backwards, from 100 J to 50 J"},
		"beyond its range":    {counters(5000), counters(100), "ran backwards"},
		"a power once":        {Reading{Watts: 5}, counters(100), "there were 0 counters of energy, then 1"},
	} {
		var c Course
		began := time.Now()
		c.Add(began, test.first)
		c.Add(seconds(began, 1), test.next)
		c.Add(seconds(began, 2), test.next)
		if got, err := c.Watts(began, seconds(began, 1)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %g W, %v, want %q", name, got, err, test.want)
		}
	}
	c := Course{Gap: time.Second}
	began := time.Now()
	c.Add(began, Reading{Watts: 1})
	c.Add(seconds(began, 1.5), Reading{Watts: 1})
	if got, err := c.Watts(began, seconds(began, 1)); err == nil || err.Error() != "the power was not read for 1.5 s" {
		t.Errorf("over a gap: %g W, %v", got, err)
	}
	if _, err := new(Course).Watts(time.Now(), time.Now().Add(time.Second)); err == nil {
		t.Error("no reading gives watts")
	}
}
