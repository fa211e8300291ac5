package dvdstore

import (
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/workload/engine"
)

// tally counts the requests of a connection and their outcomes, over the whole load.
type tally struct {
	engine.Count
	asked, answered, refused [callsInAll]int64 // of each call, every attempt separately
	began                    int64             // orders
	drawn                    [classes]int64    // operations of orders that were begun
	done                     [classes]int64
	nested                   int64 // orders whose user became a member without registering
	taken                    int64 // names that another user has
	short                    int64 // purchases that found too little
	undone                   int64 // of these, those without a row
	looked, found            int64 // searches, and those that found something
	placed, lines, pieces    int64 // of purchases that were done in full
	net                      int64 // of all purchases that were answered, hundredths
	pending                  int64 // lines of purchases that were not answered, or not in full
	pendingPieces            int64
	pendingNet               int64 // of purchases that were not answered
	customers, members       int64 // that the server said were made
	orders                   int64 // whose time was taken
	total, longest           time.Duration
}

func (t *tally) add(o *tally) {
	t.Count.Add(o.Count)
	for c := range t.asked {
		t.asked[c] += o.asked[c]
		t.answered[c] += o.answered[c]
		t.refused[c] += o.refused[c]
	}
	for c := range t.done {
		t.done[c] += o.done[c]
		t.drawn[c] += o.drawn[c]
	}
	for _, f := range []struct{ to, from *int64 }{
		{&t.began, &o.began}, {&t.nested, &o.nested}, {&t.taken, &o.taken}, {&t.short, &o.short}, {&t.undone, &o.undone}, {&t.looked, &o.looked}, {&t.found, &o.found},
		{&t.placed, &o.placed}, {&t.lines, &o.lines}, {&t.pieces, &o.pieces}, {&t.net, &o.net}, {&t.pending, &o.pending},
		{&t.pendingPieces, &o.pendingPieces}, {&t.pendingNet, &o.pendingNet},
		{&t.customers, &o.customers}, {&t.members, &o.members}, {&t.orders, &o.orders},
	} {
		*f.to += *f.from
	}
	t.total += o.total
	t.longest = max(t.longest, o.longest)
}

// unknown is how many attempts at a call were never answered.
func (t *tally) unknown(c call) int64 { return t.asked[c] - t.answered[c] - t.refused[c] }

// mixed holds what orders asked for against what they are to ask for: so many operations of
// each class to an order, as far as chance does not explain others.
func (t *tally) mixed(d *store) measure.Check {
	c := measure.Check{Name: "distribution", State: measure.Pass, Detail: fmt.Sprintf("of %d orders", t.began)}
	if t.began == 0 {
		c.State = measure.Unknown
		return c
	}
	for k, want := range d.mix() {
		if class(k) == prices || class(k) == purchase {
			continue // one each, and the load ends in the middle of an order
		}
		variance := want * (1 - want) // of a binary property of an order
		if k := class(k); k == browse || k == searchReviews || k == readReviews {
			choices := 2*want - 1
			variance = (choices*choices - 1) / 12
		}
		got := float64(t.drawn[k]) / float64(t.began)
		if math.Abs(got-want) > measure.Chance(variance, t.began) {
			c.State = measure.Fail
		}
		c.Detail += fmt.Sprintf(", %s %.4g (%.4g)", names[k], got, want)
	}
	if d.faithful() && t.nested > 0 && d.NewMembers <= d.NewCustomers {
		c.State = measure.Fail
		c.Detail += fmt.Sprintf("; %d members did not register, though one draw decides on both", t.nested)
	}
	return c
}

// most is the largest number of executions of a function: a call with a lost response may
// have run or not, and some servers count failures.
func (t *tally) most(k call, n counts) int64 {
	if n.attempts {
		return t.asked[k]
	}
	return t.answered[k] + t.unknown(k)
}

// exceeded reports whether a server counts more calls than the load made.
func (t *tally) exceeded(n counts) bool {
	for k, times := range n.calls {
		if n.apart && times > t.most(call(k), n) {
			return true
		}
	}
	return false
}

// served compares the servers' counts with the load's.
func (t *tally) served(n counts) measure.Check {
	c := measure.Check{Name: "server's mix", State: measure.Pass}
	switch {
	case n.again:
		c.State, c.Detail = measure.Unknown, "the server was started again meanwhile, and has forgotten what it counted"
		return c
	case !n.apart && n.together:
		return t.servedTogether(c, n)
	case !n.apart:
		c.State, c.Detail = measure.Unknown, "the user of the database may not enable call statistics of functions: GRANT SET ON PARAMETER track_functions there"
		return c
	}
	var all, missed int64
	var wrong []string
	for k, times := range n.calls {
		all += times
		missed += max(t.answered[k]-times, 0)
		if times < t.answered[k]-t.mayMiss(call(k), n) || times > t.most(call(k), n) {
			wrong = append(wrong, fmt.Sprintf("%s %d instead of %d", functions[k].name, times, t.answered[k]))
		}
	}
	c.Detail = fmt.Sprintf("the server counts %d calls of %d functions, each as often as the load asked for it", all, len(n.calls))
	if missed > 0 {
		c.Detail += fmt.Sprintf(" but for %d, which the count of all calls holds", missed)
	}
	if len(wrong) > 0 {
		c.State, c.Detail = measure.Fail, "the server counts other calls than the load: "+strings.Join(wrong, ", ")
	}
	return c
}

// mayMiss is how many calls of a function a server may have missed that loses some, as
// long as its count of all of them misses none.
func (t *tally) mayMiss(k call, n counts) int64 {
	var answered int64
	for _, times := range t.answered[:functionsInAll] {
		answered += times
	}
	if !n.loses || n.all < answered {
		return 0
	}
	return 2 + t.answered[k]/100
}

// servedTogether compares the sum, for servers that do not count procedures separately. It
// may include calls of others.
func (t *tally) servedTogether(c measure.Check, n counts) measure.Check {
	const apart = "; with performance_schema it counts each by itself"
	var least, most int64
	for k := range n.calls {
		least += t.answered[k]
		most += t.most(call(k), n)
	}
	c.Detail = fmt.Sprintf("the server counts %d calls in all, as many as the load asked for", n.all) + apart
	switch {
	case n.all < least:
		c.State, c.Detail = measure.Fail, fmt.Sprintf("the server counts %d calls, though it answered %d", n.all, least)
	case n.all > most:
		c.State, c.Detail = measure.Unknown, fmt.Sprintf("the server counts %d calls, of which %d are the load's", n.all, most)+apart
	}
	return c
}
