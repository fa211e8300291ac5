package dvdstore

import (
	"encoding/binary"
	"strings"

	"plimsoll/internal/postgres"
)

const (
	i4 = postgres.AsBinary
	tx = postgres.AsText
)

// The statements of the calls. Each is prepared once in a session.
var statements = [callsInAll]*postgres.Statement{
	callLogin:          postgres.NewStatement("login", "SELECT * FROM login($1, $2)", tx, tx),
	callNewCustomer:    postgres.NewStatement("new_customer", "SELECT new_customer($1"+more(2, 19)+")", texts(19)...),
	callNewMember:      postgres.NewStatement("new_member", "SELECT new_member($1, $2)", i4, i4),
	callBrowseCategory: postgres.NewStatement("browse_category", "SELECT * FROM browse_by_category($1, $2)", i4, i4),
	callBrowseActor:    postgres.NewStatement("browse_actor", "SELECT * FROM browse_by_actor($1, $2)", i4, tx),
	callBrowseTitle:    postgres.NewStatement("browse_title", "SELECT * FROM browse_by_title($1, $2)", i4, tx),
	callReviewsByActor: postgres.NewStatement("reviews_actor", "SELECT * FROM reviews_by_actor($1, $2, $3)", i4, i4, tx),
	callReviewsByTitle: postgres.NewStatement("reviews_title", "SELECT * FROM reviews_by_title($1, $2, $3)", i4, i4, tx),
	callReviewsOf:      postgres.NewStatement("reviews_of", "SELECT * FROM reviews_of($1, $2, $3)", i4, i4, i4),
	callReviewsByStars: postgres.NewStatement("reviews_stars", "SELECT * FROM reviews_by_stars($1, $2, $3)", i4, i4, i4),
	callReviewsByDate:  postgres.NewStatement("reviews_date", "SELECT * FROM reviews_by_date($1, $2, $3)", i4, i4, i4),
	callNewReview:      postgres.NewStatement("new_review", "SELECT new_review($1, $2, $3, $4, $5)", i4, i4, i4, tx, tx),
	callRate:           postgres.NewStatement("rate", "SELECT rate_review($1, $2, $3)", i4, i4, i4),
	callPurchase:       postgres.NewStatement("purchase", "SELECT purchase($1, $2, $3, $4, $5, $6)", i4, tx, tx, tx, tx, tx),
	callPrices:         postgres.NewStatement("prices", "SELECT prod_id, price FROM products WHERE prod_id = ANY($1::int[])", tx),
}

// pause is what a victim of a deadlock does before it tries again in the published
// test, within the time of the call.
var pause = postgres.NewStatement("pause", "SELECT pg_sleep(random())")

func more(from, to int) string {
	var b strings.Builder
	for n := from; n <= to; n++ {
		b.WriteString(", $")
		b.Write(number(nil, n))
	}
	return b.String()
}

func texts(n int) []postgres.Format { return make([]postgres.Format, n) }

// prepared are the statements to prepare.
func prepared() []*postgres.Statement {
	return append(statements[:len(statements):len(statements)], pause)
}

// appendInts appends a value that is an array of integers, as text.
func appendInts(b []byte, list []int) []byte {
	at := len(b)
	b = append(b, 0, 0, 0, 0, '{')
	for n, v := range list {
		if n > 0 {
			b = append(b, ',')
		}
		b = number(b, v)
	}
	b = append(b, '}')
	binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	return b
}

// ask appends the call under way.
func (s *shopper) ask(b []byte) []byte {
	b, place := statements[s.call].AppendBind(b)
	ints := func(list ...int) {
		for _, v := range list {
			b = postgres.AppendInt(b, int32(v))
		}
	}
	switch s.call {
	case callLogin:
		b = postgres.AppendText(postgres.AppendText(b, s.words), password)
	case callNewCustomer:
		for what := firstName; what <= gender; what++ {
			b = postgres.AppendText(b, s.who.text(what))
		}
		b = postgres.AppendText(postgres.AppendText(b, s.words), password)
	case callNewMember:
		ints(s.customer, s.number)
	case callBrowseCategory:
		ints(s.batch, s.number)
	case callBrowseActor, callBrowseTitle:
		ints(s.batch)
		b = postgres.AppendText(b, s.words)
	case callReviewsByActor, callReviewsByTitle:
		ints(s.batch, s.Depth)
		b = postgres.AppendText(b, s.words)
	case callReviewsOf, callReviewsByStars, callReviewsByDate:
		ints(s.batch, s.product, s.number)
	case callNewReview:
		ints(s.product, s.number, s.customer)
		b = postgres.AppendText(postgres.AppendText(b, s.words), s.more)
	case callRate:
		ints(s.number, s.customer, s.batch)
	case callPrices:
		b = appendInts(b, s.products[:s.lines])
	case callPurchase:
		net := s.net()
		ints(s.customer)
		b = postgres.AppendDecimal(b, int64(net))
		b = postgres.AppendDecimal(b, int64(tax(net)))
		b = postgres.AppendDecimal(b, int64(net+tax(net)))
		b = appendInts(appendInts(b, s.products[:s.lines]), s.pieces[:s.lines])
	}
	return postgres.AppendSync(postgres.AppendExecute(b, place))
}
