package dvdstore

// size is the scale of the initial data.
type size struct {
	customers, orders, products int // orders of a month, of which there are twelve
	reviews                     int // of a product
	stock                       int // least of a product
	offset                      int // from a multiple of hotEach back to the product that is bought often
}

// The classes of size that are published.
var published = []struct {
	bytes float64
	size
}{
	{10e6, size{customers: 20_000, orders: 1_000, products: 10_000}},
	{1e9, size{customers: 2_000_000, orders: 100_000, products: 100_000}},
	{100e9, size{customers: 200_000_000, orders: 10_000_000, products: 1_000_000}},
}

const months = 12

// size scales the class below in proportion, and the smallest downwards.
func (d *store) size() size {
	below := published[0]
	for _, class := range published {
		if class.bytes <= float64(d.Size) {
			below = class
		}
	}
	by := func(n int) int { return max(1, int(float64(n)*float64(d.Size)/below.bytes+.5)) }
	z := size{customers: by(below.customers), orders: by(below.orders), products: by(below.products), reviews: d.PerProduct}
	if !d.faithful() {
		z.stock, z.offset = enough, 1
	}
	return z
}

// enough is the stock below which a product is reordered, which happens whenever its
// stock changes to less. A product that begins with less has none for an order of three,
// and one with none is never sold and so never reordered.
const enough = 3

func (z size) allReviews() int { return z.products * z.reviews }

// ratings is the highest number that one of the first data may have.
func (z size) ratings() int { return z.allReviews() * mostRatings }

// bytes is the approximate size of the data, indexes included.
func (z size) bytes() int64 {
	reviews := int64(z.products) * int64(z.reviews)
	orders := int64(z.orders) * months
	return 12<<20 + int64(z.customers)*350 + orders*(190+5*150) + int64(z.products)*600 + reviews*(700+22*85)
}

// One of so many products is bought ten times as often as others and has ten times the
// stock: the one before each multiple. As published, it is the multiple that is bought, and
// still the one before it that has the stock.
const (
	hotEach   = 10_000
	hotWeight = 10
)

func hot(product int) bool { return (product+1)%hotEach == 0 }

// product draws a product as it is bought.
func (s *source) product(z size) int {
	special := (z.products + z.offset) / hotEach
	n := s.between(1, z.products+special*(hotWeight-1))
	if n <= z.products {
		return n
	}
	return ((n-z.products-1)/(hotWeight-1)+1)*hotEach - z.offset
}
