package orderentry

import (
	"strconv"

	"plimsoll/internal/wire"
	"plimsoll/internal/workload/engine/dataset"
)

func number(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }

// fraction appends so many ten-thousandths.
func fraction(b []byte, n int) []byte {
	return append(b, '0', '.', byte('0'+n/1000), byte('0'+n/100%10), byte('0'+n/10%10), byte('0'+n%10))
}

func cents(b []byte, n int) []byte { return wire.AppendHundredths(b, int64(n)) }

// entered is when everything in the first data was entered: the same in all trials.
const entered = "2020-01-01 00:00:00"

// address appends a street, a city, a state and a zip code.
func (s *source) address(b []byte) []byte {
	b = dataset.Tab(s.letters(b, 10, 20))
	b = dataset.Tab(s.letters(b, 10, 20))
	b = dataset.Tab(s.letters(b, 10, 20))
	b = dataset.Tab(s.letters(b, 2, 2))
	return dataset.Tab(s.zip(b))
}

func itemRows(z size, s *source, _ int) func([]byte, int) ([]byte, bool) {
	return func(b []byte, i int) ([]byte, bool) {
		if i == z.items {
			return b, false
		}
		b = dataset.Integers(b, i+1, s.between(1, 10000))
		b = dataset.Tab(s.letters(b, 14, 24))
		b = dataset.Tab(cents(b, s.between(100, 10000)))
		return dataset.Line(s.marked(b)), true
	}
}

// begins is what a warehouse has sold: what its districts have, and these what the
// payments of their customers are, so that the sums agree.
func begins(z size) int { return z.customers * 1000 }

func warehouseRows(z size, s *source, _ int) func([]byte, int) ([]byte, bool) {
	return func(b []byte, i int) ([]byte, bool) {
		if i == z.warehouses {
			return b, false
		}
		b = dataset.Integers(b, i+1)
		b = dataset.Tab(s.letters(b, 6, 10))
		b = s.address(b)
		b = dataset.Tab(fraction(b, s.between(0, 2000)))
		return dataset.Line(cents(b, districts*begins(z))), true
	}
}

func districtRows(z size, s *source, _ int) func([]byte, int) ([]byte, bool) {
	return func(b []byte, i int) ([]byte, bool) {
		if i == z.warehouses*districts {
			return b, false
		}
		b = dataset.Integers(b, i%districts+1, i/districts+1)
		b = dataset.Tab(s.letters(b, 6, 10))
		b = s.address(b)
		b = dataset.Tab(fraction(b, s.between(0, 2000)))
		b = dataset.Tab(cents(b, begins(z)))
		return dataset.Line(number(b, z.customers+1)), true
	}
}

// stock draws a row of the stock: its quantity, and the text after it.
func (s *source) stock(b []byte) (quantity int, text []byte) {
	quantity = s.between(10, 100)
	for range districts {
		b = dataset.Tab(s.letters(b, 24, 24))
	}
	b = dataset.Integers(b, 0, 0, 0)
	return quantity, s.marked(b)
}

func stockRows(z size, s *source, warehouse int) func([]byte, int) ([]byte, bool) {
	var text []byte
	return func(b []byte, i int) ([]byte, bool) {
		if i == z.items {
			return b, false
		}
		var quantity int
		quantity, text = s.stock(text[:0])
		return dataset.Line(append(dataset.Integers(b, i+1, warehouse, quantity), text...)), true
	}
}

func firstStockRows(z size, s *source, warehouse int) func([]byte, int) ([]byte, bool) {
	var unused []byte
	return func(b []byte, i int) ([]byte, bool) {
		if i == z.items {
			return b, false
		}
		var quantity int
		quantity, unused = s.stock(unused[:0])
		return dataset.Line(number(dataset.Integers(b, i+1, warehouse), quantity)), true
	}
}

func customerRows(z size, s *source, warehouse int) func([]byte, int) ([]byte, bool) {
	return func(b []byte, i int) ([]byte, bool) {
		if i == districts*z.customers {
			return b, false
		}
		id := i%z.customers + 1
		b = dataset.Integers(b, id, i/z.customers+1, warehouse)
		b = dataset.Tab(s.letters(b, 8, 16))
		b = append(b, "OE\t"...)
		last := id - 1
		if last >= lastNames {
			last = s.lastNumber(z, lastLoading)
		}
		b = dataset.Tab(appendLast(b, last))
		b = s.address(b)
		b = dataset.Tab(s.digits(b, 16, 16))
		b = append(b, entered...)
		if s.chance(10) {
			b = append(b, "\tBC\t50000.00\t"...)
		} else {
			b = append(b, "\tGC\t50000.00\t"...)
		}
		b = fraction(b, s.between(0, 5000))
		b = append(b, "\t-10.00\t10.00\t1\t0\t"...)
		return dataset.Line(s.letters(b, 300, 500)), true
	}
}

func historyRows(z size, s *source, warehouse int) func([]byte, int) ([]byte, bool) {
	return func(b []byte, i int) ([]byte, bool) {
		if i == districts*z.customers {
			return b, false
		}
		district := i/z.customers + 1
		b = dataset.Integers(b, i%z.customers+1, district, warehouse, district, warehouse)
		b = append(b, entered...)
		b = append(b, "\t10.00\t"...)
		return dataset.Line(s.letters(b, 12, 24)), true
	}
}

// book is what orders and their lines have in common: both are drawn from the same
// numbers.
type book struct {
	z         size
	s         *source
	customers []int32
}

// lines draws how many lines the order has whose turn it is.
func (k *book) lines(i int) (district, order, customer, lines int) {
	if i%k.z.customers == 0 {
		k.customers = k.s.shuffled(k.z.customers)
	}
	order = i%k.z.customers + 1
	return i/k.z.customers + 1, order, int(k.customers[order-1]), k.s.between(5, 15)
}

func orderRows(z size, s *source, warehouse int) func([]byte, int) ([]byte, bool) {
	k := &book{z: z, s: s}
	return func(b []byte, i int) ([]byte, bool) {
		if i == districts*z.customers {
			return b, false
		}
		district, order, customer, lines := k.lines(i)
		b = dataset.Integers(b, order, district, warehouse, customer)
		b = dataset.Tab(append(b, entered...))
		if order > z.customers-z.undelivered() {
			b = dataset.Null(b)
		} else {
			b = number(b, (order*7+district)%10+1)
		}
		b = dataset.Tab(b)
		b = dataset.Integers(b, lines)
		return dataset.Line(number(b, 1)), true
	}
}

func newOrderRows(z size, _ *source, warehouse int) func([]byte, int) ([]byte, bool) {
	return func(b []byte, i int) ([]byte, bool) {
		if i == districts*z.undelivered() {
			return b, false
		}
		b = dataset.Integers(b, z.customers-z.undelivered()+1+i%z.undelivered(), i/z.undelivered()+1)
		return dataset.Line(number(b, warehouse)), true
	}
}

func lineRows(z size, s *source, warehouse int) func([]byte, int) ([]byte, bool) {
	k := &book{z: z, s: s}
	content := newSource(s.seed, uint64(warehouse)<<8|9)
	return func(b []byte, i int) ([]byte, bool) {
		if i == districts*z.customers {
			return b, false
		}
		district, order, _, lines := k.lines(i)
		fresh := order > z.customers-z.undelivered()
		for n := range lines {
			b = dataset.Integers(b, order, district, warehouse, n+1, content.between(1, z.items), warehouse)
			if fresh {
				b = dataset.Null(b)
				b = append(b, "\t5\t"...)
				b = cents(b, content.between(1, 999999))
			} else {
				b = append(b, entered...)
				b = append(b, "\t5\t0.00"...)
			}
			b = dataset.Line(content.letters(dataset.Tab(b), 24, 24))
		}
		return b, true
	}
}
