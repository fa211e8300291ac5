package brokerage

// lot is the remaining position of an account in a security from one trade: bought, or sold
// short if the quantity is negative.
type lot struct {
	trade    int
	price    int // hundredths
	quantity int
}

// step is a line of a holding's history.
type step struct {
	lot           int // the trade that it is since
	before, after int
}

// deal is a trade that is executed.
type deal struct {
	trade, quantity, price int // price in hundredths
	order                  order
	lifo                   bool
	charge, rate           int // hundredths; hundredths of a percent
	taxStatus, taxRate     int
}

// mostLots is how many lots a trade may need: it has 800 shares at most, and a lot a
// hundred at least.
const mostLots = 8

// outcome is the result of a trade.
type outcome struct {
	steps           [mostLots + 1]step
	count           int // of them
	rest            int // shares that are a new lot
	commission, tax int
	amount          int // for the account, net of charges
}

func (d deal) signed() int {
	if d.order.sells() {
		return -d.quantity
	}
	return d.quantity
}

// execute takes a trade from lots of the other sign, which come in the order in which
// they are used (frames 2 to 6 of a trade result).
func (d deal) execute(lots []lot) (o outcome) {
	need := d.signed()
	gain := 0
	for _, l := range lots {
		if need == 0 || l.quantity > 0 == (need > 0) || o.count == mostLots {
			break
		}
		taken := min(abs(need), abs(l.quantity))
		if need > 0 { // a short sale is covered
			gain += taken * (l.price - d.price)
			o.note(l.trade, l.quantity, l.quantity+taken)
			need -= taken
		} else {
			gain += taken * (d.price - l.price)
			o.note(l.trade, l.quantity, l.quantity-taken)
			need += taken
		}
	}
	if o.rest = need; need != 0 {
		o.note(d.trade, 0, need)
	}
	o.commission = d.quantity * d.price * d.rate / 10_000
	if d.taxStatus > 0 && gain > 0 {
		o.tax = gain * d.taxRate / 10_000
	}
	o.amount = d.quantity * d.price
	if !d.order.sells() {
		o.amount = -o.amount
	}
	o.amount -= d.charge + o.commission
	if d.taxStatus == 1 {
		o.amount -= o.tax
	}
	return o
}

func (o *outcome) note(lot, before, after int) {
	o.steps[o.count] = step{lot, before, after}
	o.count++
}

func abs(n int) int { return max(n, -n) }
