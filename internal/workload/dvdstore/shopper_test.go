package dvdstore

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
)

// drawnOf is the tally of so many orders.
func drawnOf(t *testing.T, settings parameter.Settings, orders int) *tally {
	t.Helper()
	k := postgre.sitting(t, settings)
	for k.tally.began < int64(orders) {
		k.shopper.begun = false
		k.Request(nil, 0)
	}
	return k.tally
}

// What is drawn keeps the rules, and a constant that is wrong is found.
func TestMix(t *testing.T) {
	for _, mode := range []string{sound, faithful} {
		s := drawnOf(t, parameter.Settings{"mode": mode}, 20_000)
		if c := s.mixed(built(t, parameter.Settings{"mode": mode})); c.State != measure.Pass {
			t.Errorf("%s: %+v", mode, c)
		}
		for name, value := range map[string]string{"searches": "4", "reviews": "2", "new_customers": "22%", "new_members": "2%", "new_reviews": "6%", "ratings": "9%"} {
			if c := s.mixed(built(t, parameter.Settings{"mode": mode, name: value})); c.State != measure.Fail {
				t.Errorf("%s, with %s %s: %+v", mode, name, value, c)
			}
		}
	}
	// Members who log in are there only where the draws are independent.
	if s := drawnOf(t, nil, 20_000); s.nested == 0 || s.mixed(built(t, parameter.Settings{"mode": faithful})).State != measure.Fail {
		t.Errorf("%d members did not register, and that passes for faithful", s.nested)
	}
	if s := drawnOf(t, parameter.Settings{"mode": faithful}, 20_000); s.nested != 0 {
		t.Errorf("%d members did not register", s.nested)
	}
	if c := (&tally{}).mixed(built(t, nil)); c.State != measure.Unknown {
		t.Errorf("no order: %+v", c)
	}
}

func TestSecondVersion(t *testing.T) {
	s := drawnOf(t, parameter.Settings{"reviews": "0"}, 1000)
	if n := s.drawn; n[searchReviews]+n[readReviews]+n[newReview]+n[rate]+n[newMember] != 0 || n[browse] == 0 {
		t.Errorf("%v", n)
	}
}

// The server's counts are those of the load but for what was not answered.
func TestServersCounts(t *testing.T) {
	var s tally
	s.asked[callPurchase], s.answered[callPurchase], s.refused[callPurchase] = 12, 10, 1
	for times, want := range map[int64][3]measure.State{ // of those done, of all attempts, of all functions together
		9: {measure.Fail, measure.Fail, measure.Fail}, 10: {measure.Pass, measure.Pass, measure.Pass}, 11: {measure.Pass, measure.Pass, measure.Pass},
		12: {measure.Fail, measure.Pass, measure.Pass}, 13: {measure.Fail, measure.Fail, measure.Unknown},
	} {
		n := counts{apart: true}
		n.calls[callPurchase] = times
		for k, n := range []counts{n, {calls: n.calls, apart: true, attempts: true}, {all: times, together: true, attempts: true}} {
			if c := s.served(n); c.State != want[k] {
				t.Errorf("%d: %+v", times, c)
			}
		}
	}
	// One that loses some is believed where it lost few, and none of all together.
	for n, want := range map[[2]int64]measure.State{{7, 10}: measure.Fail, {8, 10}: measure.Pass, {8, 9}: measure.Fail, {12, 12}: measure.Pass, {13, 13}: measure.Fail} {
		s.answered[callPrices] = 10 // no function
		c := counts{all: n[1], apart: true, attempts: true, loses: true}
		c.calls[callPurchase] = n[0]
		if got := s.served(c); got.State != want || (n[0] == 8 && want == measure.Pass) != strings.Contains(got.Detail, "but for 2") {
			t.Errorf("%d: %+v", n, got)
		}
	}
	for word, n := range map[string]counts{"GRANT": {}, "started again": {apart: true, again: true}} {
		if c := s.served(n); c.State != measure.Unknown || !strings.Contains(c.Detail, word) {
			t.Errorf("%+v", c)
		}
	}
}

// Each of the sums is looked at.
func TestDataThatIsLost(t *testing.T) {
	s := tally{customers: 2, members: 3, net: 100, lines: 5, pieces: 9}
	s.asked[callPurchase], s.answered[callPurchase] = 1, 1
	s.asked[callNewReview], s.answered[callNewReview] = 4, 4
	s.asked[callRate], s.answered[callRate] = 6, 6
	whole := state{
		customerRowsThere: 2, orderRowsThere: 1, orderedNet: 100, lineRowsThere: 5, linePieces: 9, historyRowsThere: 5,
		stockPieces: 241, soldPieces: 9, restockedPieces: 250, reviewRowsThere: 4, ratingRowsThere: 6, memberRowsThere: 3,
	}
	d := built(t, nil)
	if c := s.kept(d, whole); c.State != measure.Pass {
		t.Fatalf("%+v", c)
	}
	for k := range whole {
		for _, by := range []int64{-1, 1} {
			other := whole
			other[k] += by
			if c := s.kept(d, other); c.State != measure.Fail || c.Detail == "" {
				t.Errorf("%s %+d: %+v", sumNames[k], by, c)
			}
		}
	}
	// A faithful purchase may be overwritten by another.
	less := whole
	less[soldPieces] -= 2
	if c := s.kept(built(t, parameter.Settings{"mode": faithful}), less); c.State != measure.Pass || !strings.Contains(c.Detail, "7 of 9 pieces") {
		t.Errorf("%+v", c)
	}
	// What was not answered may be there, and no more.
	s.asked[callPurchase]++
	s.pending, s.pendingPieces, s.pendingNet = 2, 3, 50
	more := whole
	for k, by := range map[int]int64{orderRowsThere: 1, orderedNet: 50, lineRowsThere: 2, linePieces: 3, historyRowsThere: 2, soldPieces: 3, stockPieces: -3} {
		more[k] += by
	}
	if c := s.kept(d, more); c.State != measure.Pass || !strings.Contains(c.Detail, "1 more purchases") {
		t.Errorf("%+v", c)
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		size string
		want size
	}{
		{"1MB", size{2000, 100, 1000, 20, 3, 1}},
		{"10MB", size{20_000, 1000, 10_000, 20, 3, 1}},
		{"50MB", size{100_000, 5000, 50_000, 20, 3, 1}},
		{"1GB", size{2_000_000, 100_000, 100_000, 20, 3, 1}},
		{"2GB", size{4_000_000, 200_000, 200_000, 20, 3, 1}},
		{"100GB", size{200_000_000, 10_000_000, 1_000_000, 20, 3, 1}},
	} {
		if got := built(t, parameter.Settings{"size": c.size}).size(); got != c.want {
			t.Errorf("%s: %+v", c.size, got)
		}
	}
	if z := built(t, parameter.Settings{"mode": faithful}).size(); z.stock != 0 || z.offset != 0 {
		t.Errorf("faithful stock begins at %d, and the product bought often is %d before a multiple", z.stock, z.offset)
	}
}

// Every ten thousandth product is bought ten times as often: the one that has the stock or,
// as published, the next.
func TestHotProducts(t *testing.T) {
	for offset, often := range map[int][]int{1: {9999, 19999, 29999}, 0: {10_000, 20_000, 30_000}} {
		z, s, n := size{products: 30_000, offset: offset}, newSource(1, 2), 4_000_000
		bought := make([]int, z.products+1)
		for range n {
			bought[s.product(z)]++
		}
		each, ordinary := float64(n)/float64(z.products+3*9), n
		for _, p := range often {
			if got := float64(bought[p]) / each; hot(p) != (offset == 1) || got < 8.5 || got > 11.5 {
				t.Errorf("product %d is bought %.2f times as often", p, got)
			}
			ordinary -= bought[p]
		}
		if got := float64(ordinary) / each / float64(z.products-3); got < .99 || got > 1.01 {
			t.Errorf("others are bought %.3f times as often as they are to", got)
		}
		if bought[0] != 0 {
			t.Error("a product is bought that is not there")
		}
	}
}

// A faithful user registers under a number of a customer, makes any customer a member, goes
// on as that one, reads reviews of one number of stars and reviews any product.
func TestFaithfulDraws(t *testing.T) {
	for mode, want := range map[string]bool{sound: false, faithful: true} {
		d := built(t, parameter.Settings{"mode": mode, "new_customers": "100%", "new_members": "100%", "new_reviews": "100%", "reviews": "5"})
		z := d.size()
		s := &shopper{Parameters: d.Parameters, source: newSource(3, 4), z: z}
		near, others, even := 0, 0, 0
		reviewed := map[int]int{}
		const orders = 3000
		for range orders {
			s.begun = false
			s.next()
			if n, err := strconv.Atoi(strings.TrimPrefix(string(s.words), "newuser")); err != nil || n < 1 {
				t.Fatalf("%s: registers as %q", mode, s.words)
			} else if n <= z.customers {
				near++
			}
			s.customer = z.customers + 1
			stars := map[int]bool{}
			for s.call != callPrices {
				s.next()
				switch s.class {
				case newMember:
					others += index(s.joining != s.customer)
				case readReviews:
					stars[s.number] = true
				case newReview:
					reviewed[s.product]++
				}
			}
			even += index(len(stars) == 1)
		}
		if faithfully := near == orders && others == orders && even == orders; faithfully != want {
			t.Errorf("%s: of %d orders %d register under a customer's number, %d make another a member, %d read one number of stars", mode, orders, near, others, even)
		}
		if popular := z.products / hotEach * hotEach; reviewed[popular-z.offset] > 3 && want {
			t.Errorf("product %d is reviewed %d times", popular, reviewed[popular])
		}
	}
}

// The data follows from the seed, piece by piece, whoever makes it.
func TestDataOfASeed(t *testing.T) {
	z := size{customers: 45_000, orders: 4000, products: 2000, reviews: 6}
	content := func(seed uint64) map[string]string {
		all := map[string]string{}
		for _, tab := range filled {
			for n := tab.pieces(z) - 1; n >= 0; n-- {
				next, more := tab.fill(z, seed, n), true
				var b []byte
				for more {
					b, more = next(b)
				}
				all[tab.label(n)] = string(b)
			}
		}
		return all
	}
	first, again, other := content(1), content(1), content(2)
	rows := map[string]int{}
	for label, text := range first {
		if again[label] != text {
			t.Errorf("%s is another the second time", label)
		}
		if other[label] == text && label != "categories 0" {
			t.Errorf("%s is the same for another seed", label)
		}
		rows[strings.Fields(label)[0]] += strings.Count(text, "\n")
	}
	for name, want := range map[string]int{"customers": 45_000, "orders": 48_000, "products": 2000, "inventory": 2000, "reviews": 12_000} {
		if rows[name] != want {
			t.Errorf("%d %s", rows[name], name)
		}
	}
	if rows["orderlines"] != rows["cust_hist"] || rows["orderlines"] < 4*48_000 || rows["orderlines"] > 6*48_000 {
		t.Errorf("%d lines of 48,000 orders, %d in the history", rows["orderlines"], rows["cust_hist"])
	}
	if n := rows["reviews_helpfulness"]; n < 21*12_000 || n > 22*12_000 {
		t.Errorf("%d ratings of 12,000 reviews", n)
	}
	if n := rows["membership"]; n < 4200 || n > 4800 {
		t.Errorf("%d members of 45,000 customers", n)
	}
}

// The lines of an order, and what its customer bought, are of the same order.
func TestLinesOfAnOrder(t *testing.T) {
	z := size{customers: 100, orders: 10, products: 50}
	text := map[string][][]string{}
	for _, tab := range filled[1:4] {
		next, more := tab.fill(z, 3, 0), true
		var b []byte
		for more {
			b, more = next(b)
		}
		for line := range bytes.Lines(b) {
			text[tab.name] = append(text[tab.name], strings.Split(strings.TrimSpace(string(line)), "\t"))
		}
	}
	owner := map[string]string{}
	for n, o := range text["orders"] {
		owner[o[0]] = o[2]
		var net, tax, total float64
		fmt.Sscan(strings.Join(o[3:], " "), &net, &tax, &total)
		if o[0] != fmt.Sprint(n+1) || net <= 0 || net > 400 || total < net+tax-.001 || total > net+tax+.001 || tax < .0825*net-.006 || tax > .0825*net+.006 {
			t.Errorf("order %v", o)
		}
	}
	for n, l := range text["orderlines"] {
		h := text["cust_hist"][n]
		if l[1] != h[1] || l[2] != h[2] || h[0] != owner[l[1]] {
			t.Errorf("line %v, history %v of customer %s", l, h, owner[l[1]])
		}
	}
}
