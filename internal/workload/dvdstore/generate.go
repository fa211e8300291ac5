package dvdstore

import (
	"strconv"

	"plimsoll/internal/wire"
	"plimsoll/internal/workload/engine/dataset"
)

// table is one that is filled by COPY, in pieces that do not depend on each other: the
// rows of a piece follow from the seed and its number alone.
type table struct {
	name   string
	stream uint64             // of its random numbers
	units  func(z size) int   // of which there are rows: customers, orders, products, reviews
	piece  int                // units of a piece
	begin  func(p *piece) row // of a piece
}

// piece is one that is being made.
type piece struct {
	z      size
	source *source
}

// row appends the rows of a unit.
type row func(b []byte, unit int) []byte

var filled = []table{
	{"customers", 1, func(z size) int { return z.customers }, 20_000, customerRows},
	{"orders", 2, func(z size) int { return z.orders * months }, 20_000, orderRows},
	{"orderlines", 2, func(z size) int { return z.orders * months }, 20_000, lineRows}, // of the same orders
	{"cust_hist", 2, func(z size) int { return z.orders * months }, 20_000, historyRows},
	{"products", 3, func(z size) int { return z.products }, 10_000, productRows},
	{"inventory", 4, func(z size) int { return z.products }, 50_000, inventoryRows},
	{"reviews", 5, func(z size) int { return z.allReviews() }, 10_000, reviewRows},
	{"reviews_helpfulness", 6, func(z size) int { return z.allReviews() }, 10_000, ratingRows},
	{"membership", 7, func(z size) int { return z.customers }, 100_000, memberRows},
	{"categories", 8, func(size) int { return categories }, categories, categoryRows},
}

func cents(b []byte, n int) []byte { return wire.AppendHundredths(b, int64(n)) }

// firstYear is the year that the first data is from.
const firstYear = 2013

// day appends a day of it.
func day(b []byte, month, day int) []byte {
	return append(number(b, firstYear), '-', byte('0'+month/10), byte('0'+month%10), '-', byte('0'+day/10), byte('0'+day%10))
}

const password = "password"

var secret = []byte(password)

// userName appends the name of a customer who was there from the beginning.
func userName(b []byte, customer int) []byte { return number(append(b, "user"...), customer) }

func customerRows(p *piece) row {
	var who person
	return func(b []byte, unit int) []byte {
		who.draw(p.source, unit >= p.z.customers/2)
		b = dataset.Integers(b, unit+1)
		for what := firstName; what <= expiration; what++ {
			b = dataset.Tab(append(b, who.text(what)...))
		}
		b = dataset.Tab(userName(b, unit+1))
		b = append(b, password...)
		for what := age; what <= gender; what++ {
			b = append(dataset.Tab(b), who.text(what)...)
		}
		return dataset.Line(b)
	}
}

// tax is 8.25 %, in hundredths.
func tax(net int) int { return (net*825 + 5000) / 10_000 }

// order is what orders, their lines and what customers bought have in common: all are
// drawn from the same numbers.
type order struct {
	number, customer, month, day, net int
	products, quantities              [9]int
	lines                             int
}

func (p *piece) order(unit int) (o order) {
	o.number = unit + 1
	o.month = unit/p.z.orders + 1
	o.day = p.source.between(1, 28)
	o.customer = p.source.between(1, p.z.customers)
	o.net = p.source.between(1, 40_000)
	o.lines = p.source.between(1, 9)
	for n := range o.lines {
		o.products[n], o.quantities[n] = p.source.between(1, p.z.products), p.source.between(1, 3)
	}
	return o
}

func orderRows(p *piece) row {
	return func(b []byte, unit int) []byte {
		o := p.order(unit)
		b = dataset.Integers(b, o.number)
		b = dataset.Tab(day(b, o.month, o.day))
		b = dataset.Integers(b, o.customer)
		b = dataset.Tab(cents(b, o.net))
		b = dataset.Tab(cents(b, tax(o.net)))
		return dataset.Line(cents(b, o.net+tax(o.net)))
	}
}

func lineRows(p *piece) row {
	return func(b []byte, unit int) []byte {
		o := p.order(unit)
		for n := range o.lines {
			b = dataset.Integers(b, n+1, o.number, o.products[n], o.quantities[n])
			b = dataset.Line(day(b, o.month, o.day))
		}
		return b
	}
}

func historyRows(p *piece) row {
	return func(b []byte, unit int) []byte {
		o := p.order(unit)
		for n := range o.lines {
			b = dataset.Integers(b, o.customer, o.number)
			b = dataset.Line(number(b, o.products[n]))
		}
		return b
	}
}

func productRows(p *piece) row {
	special := .01
	if p.z.products > 100_000 {
		special = .0001
	}
	return func(b []byte, unit int) []byte {
		b = dataset.Integers(b, unit+1, p.source.between(1, categories))
		b = append(appendTitleWord(b, p.source.between(0, words-1)), ' ')
		b = dataset.Tab(appendSecondWord(b, p.source.between(0, words-1)))
		b = dataset.Tab(p.source.actor(b))
		b = dataset.Tab(cents(b, 100*p.source.between(9, 29)+99))
		b = append(b, "01"[index(p.source.share() < special)], '\t')
		b = dataset.Integers(b, p.source.between(1, p.z.products))
		return dataset.Line(append(b, "01"[index(p.source.share() < .1)]))
	}
}

func index(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func inventoryRows(p *piece) row {
	return func(b []byte, unit int) []byte {
		most, scale := 500, 1
		if hot(unit + 1) {
			scale = 10
		}
		b = dataset.Integers(b, unit+1, scale*p.source.between(p.z.stock, most))
		return dataset.Line(append(b, '0'))
	}
}

func reviewRows(p *piece) row {
	return func(b []byte, unit int) []byte {
		b = dataset.Integers(b, unit+1, unit/p.z.reviews+1)
		b = dataset.Tab(day(b, p.source.between(1, 12), p.source.between(1, 28)))
		b = dataset.Integers(b, p.source.between(1, 5), p.source.between(1, p.z.customers))
		b = dataset.Tab(p.source.sentence(b, 3))
		return dataset.Line(p.source.sentence(b, p.source.between(7, 130)))
	}
}

// mostRatings is how many of the numbers of ratings are kept for each review, which has
// at least fewestRatings.
const (
	fewestRatings = 3
	mostRatings   = 40
)

func ratingRows(p *piece) row {
	return func(b []byte, unit int) []byte {
		for n := range p.source.between(fewestRatings, mostRatings) {
			b = dataset.Integers(b, unit*mostRatings+n+1, unit+1, p.source.between(1, p.z.customers))
			b = dataset.Line(number(b, p.source.between(1, 10)))
		}
		return b
	}
}

func memberRows(p *piece) row {
	return func(b []byte, unit int) []byte {
		if p.source.share() >= .1 {
			return b
		}
		b = dataset.Integers(b, unit+1, p.source.between(1, 3))
		b = day(b, p.source.between(1, 12), p.source.between(1, 28))
		return dataset.Line(b)
	}
}

func categoryRows(*piece) row {
	return func(b []byte, unit int) []byte {
		b = dataset.Integers(b, unit+1)
		return dataset.Line(append(b, categoryNames[unit]...))
	}
}

// pieces is how many pieces a table has.
func (t table) pieces(z size) int { return (t.units(z) + t.piece - 1) / t.piece }

// fill is the rows of a piece, as COPY requests them.
func (t table) fill(z size, seed uint64, number int) func(b []byte) ([]byte, bool) {
	unit, end := number*t.piece, min((number+1)*t.piece, t.units(z))
	next := t.begin(&piece{z, newSource(seed, t.stream<<32|uint64(number))})
	return func(b []byte) ([]byte, bool) {
		if unit < end {
			b = next(b, unit)
			unit++
		}
		return b, unit < end
	}
}

// label is how a piece is known.
func (t table) label(number int) string { return t.name + " " + strconv.Itoa(number) }
