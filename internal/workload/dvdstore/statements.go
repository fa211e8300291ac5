package dvdstore

import (
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

const (
	i4 = engine.AsInt
	tx = engine.AsText
	dc = engine.AsDecimal
)

// function is one of the database: its parameters, and whether its result is a table.
type function struct {
	name       string
	table      bool
	parameters []engine.Format
}

var functions = [functionsInAll]function{
	callLogin:          {"login", true, []engine.Format{tx, tx}},
	callNewCustomer:    {"new_customer", false, alike(tx, 19)},
	callNewMember:      {"new_member", false, alike(i4, 2)},
	callBrowseCategory: {"browse_by_category", true, alike(i4, 2)},
	callBrowseActor:    {"browse_by_actor", true, []engine.Format{i4, tx}},
	callBrowseTitle:    {"browse_by_title", true, []engine.Format{i4, tx}},
	callReviewsByActor: {"reviews_by_actor", true, []engine.Format{i4, i4, tx}},
	callReviewsByTitle: {"reviews_by_title", true, []engine.Format{i4, i4, tx}},
	callReviewsOf:      {"reviews_of", true, alike(i4, 3)},
	callReviewsByStars: {"reviews_by_stars", true, alike(i4, 3)},
	callReviewsByDate:  {"reviews_by_date", true, alike(i4, 3)},
	callNewReview:      {"new_review", false, []engine.Format{i4, i4, i4, tx, tx}},
	callRate:           {"rate_review", false, alike(i4, 3)},
	callPurchase:       {"purchase", false, append([]engine.Format{i4, i4, dc, dc, dc}, alike(i4, 2*mostLines)...)},
}

func alike(f engine.Format, n int) []engine.Format { return slices.Repeat([]engine.Format{f}, n) }

// places are the parameters of a statement from one to another.
func places(from, to int) string {
	var b strings.Builder
	for n := from; n <= to; n++ {
		if n > from {
			b.WriteString(", ")
		}
		b.WriteString("$" + strconv.Itoa(n))
	}
	return b.String()
}

// pause is the number of what a victim of a deadlock does before it tries again in the
// published test, within the time of the call. Calls have the numbers before it.
const pause = int(callsInAll)

// book is the statements of a load. Each is prepared once in a session.
func book(protocol string) *dialogue.Statements {
	list := make([]engine.Statement, callsInAll, callsInAll+1)
	for n, f := range functions {
		arguments, verb := places(1, len(f.parameters)), "SELECT "
		if f.table {
			verb += "* FROM "
		}
		s := engine.Statement{Name: f.name, SQL: verb + f.name + "(" + arguments + ")", Parameters: f.parameters}
		s.MariaDB = []string{"CALL " + f.name + "(" + arguments + ")"}
		list[n] = s
	}
	list[callPrices] = engine.Statement{Name: "prices", SQL: "SELECT prod_id, price FROM products WHERE prod_id IN (" + places(1, mostLines) + ")", Parameters: alike(i4, mostLines)}
	list = append(list, engine.Statement{Name: "pause", SQL: "SELECT pg_sleep(random())", MariaDB: []string{"DO sleep(rand())"}})
	k := dialogue.NewBook(protocol, list)
	k.Begin = dialogue.Never // functions commit by themselves
	return k
}

// ask appends the current call.
func (s *shopper) ask(b []byte, to *engine.Session) []byte {
	values := s.values[:0]
	ints := func(list ...int) {
		for _, v := range list {
			values = append(values, engine.Int(v))
		}
	}
	texts := func(list ...[]byte) {
		for _, v := range list {
			values = append(values, engine.Text(v))
		}
	}
	switch s.call {
	case callLogin:
		texts(s.words, secret)
	case callNewCustomer:
		for what := firstName; what <= gender; what++ {
			texts(s.who.text(what))
		}
		texts(s.words, secret)
	case callNewMember:
		ints(s.joining, s.number)
	case callBrowseCategory:
		ints(s.batch, s.number)
	case callBrowseActor, callBrowseTitle:
		ints(s.batch)
		texts(s.words)
	case callReviewsByActor, callReviewsByTitle:
		ints(s.batch, s.Depth)
		texts(s.words)
	case callReviewsOf, callReviewsByStars, callReviewsByDate:
		ints(s.batch, s.product, s.number)
	case callNewReview:
		ints(s.product, s.number, s.customer)
		texts(s.words, s.more)
	case callRate:
		ints(s.number, s.customer, s.batch)
	case callPrices:
		for n := range mostLines { // the last again, where there are fewer
			ints(s.products[min(n, s.lines-1)])
		}
	case callPurchase:
		net := s.net()
		ints(s.customer, s.lines)
		values = append(values, engine.Decimal(int64(net)), engine.Decimal(int64(tax(net))), engine.Decimal(int64(net+tax(net))))
		ints(s.products[:]...)
		ints(s.pieces[:]...)
	}
	return to.Append(b, int(s.call), values...)
}
