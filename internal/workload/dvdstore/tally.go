package dvdstore

import (
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/internal/measure"
)

// tally counts what a connection asked for and what came of it, over the whole load.
type tally struct {
	asked, answered, refused [callsInAll]int64 // of each call, every attempt by itself
	began                    int64             // orders
	drawn                    [classes]int64    // operations of orders that were begun
	done                     [classes]int64
	nested                   int64 // orders whose user became a member without registering
	taken                    int64 // names that another user has
	short                    int64 // purchases that found too little
	looked, found            int64 // searches, and those that found something
	placed, lines, pieces    int64 // of purchases that were done in full
	net                      int64 // of all purchases that were answered, hundredths
	pending                  int64 // lines of purchases that were not answered, or not in full
	pendingPieces            int64
	pendingNet               int64 // of purchases that were not answered
	retries                  int64
	troubles                 int64
	why                      string // the first
	customers, members       int64  // that the server said were made
	orders                   int64  // whose time was taken
	total, longest           time.Duration
}

func (t *tally) note(why string) {
	if t.troubles++; t.why == "" {
		t.why = why
	}
}

func (t *tally) add(o *tally) {
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
		{&t.began, &o.began}, {&t.nested, &o.nested}, {&t.taken, &o.taken}, {&t.short, &o.short}, {&t.looked, &o.looked}, {&t.found, &o.found},
		{&t.placed, &o.placed}, {&t.lines, &o.lines}, {&t.pieces, &o.pieces}, {&t.net, &o.net}, {&t.pending, &o.pending},
		{&t.pendingPieces, &o.pendingPieces}, {&t.pendingNet, &o.pendingNet}, {&t.retries, &o.retries}, {&t.troubles, &o.troubles},
		{&t.customers, &o.customers}, {&t.members, &o.members}, {&t.orders, &o.orders},
	} {
		*f.to += *f.from
	}
	t.total += o.total
	t.longest = max(t.longest, o.longest)
	if t.why == "" {
		t.why = o.why
	}
}

// unknown is how many attempts at a call were never answered.
func (t *tally) unknown(c call) int64 { return t.asked[c] - t.answered[c] - t.refused[c] }

// mixed holds what orders asked for against what they are to ask for: so many
// operations of each class to an order, within four standard errors.
func (t *tally) mixed(d *store) measure.Check {
	c := measure.Check{Name: "distribution", State: measure.Pass, Detail: fmt.Sprintf("of %d orders", t.began)}
	if t.began == 0 {
		c.State = measure.Unknown
		return c
	}
	n := float64(t.began)
	for k, want := range d.mix() {
		if class(k) == prices || class(k) == purchase {
			continue // one each, and the load ends in the middle of an order
		}
		variance := want * (1 - want) // of what an order has or has not
		if k := class(k); k == browse || k == searchReviews || k == readReviews {
			choices := 2*want - 1
			variance = (choices*choices - 1) / 12
		}
		got := float64(t.drawn[k]) / n
		if math.Abs(got-want) > 4*math.Sqrt(variance/n)+.5/n {
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

// served holds what the server says that it did against what the load asked of it. A
// call whose answer was lost may have been done or not.
func (t *tally) served(counts [functionsInAll]int64) measure.Check {
	c := measure.Check{Name: "server's mix", State: measure.Pass}
	var all int64
	var wrong []string
	for k, n := range counts {
		all += n
		k := call(k)
		if n < t.answered[k] || n > t.answered[k]+t.unknown(k) {
			wrong = append(wrong, fmt.Sprintf("%s %d instead of %d", functionNames[k], n, t.answered[k]))
		}
	}
	c.Detail = fmt.Sprintf("the server counts %d calls of %d functions, each as often as the load asked for it", all, len(counts))
	if len(wrong) > 0 {
		c.State, c.Detail = measure.Fail, "the server counts other calls than the load: "+strings.Join(wrong, ", ")
	}
	return c
}
