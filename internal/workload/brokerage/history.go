package brokerage

import "time"

// past is a trade of the first data: executed long ago.
type past struct {
	deal
	outcome
	orderRequest
	account, customer int
	when              time.Time
}

// book is what happened to one account before the load begins. All tables of the account
// follow from it, so that they agree.
type book struct {
	z       size
	seed    uint64
	ranks   []int
	source  source
	account int
	next    int // number of the trade that comes next
	lots    map[int][]lot
	opening int
	balance int // both in hundredths
}

func newBook(z size, seed uint64) *book { return &book{z: z, seed: seed, ranks: z.ranks()} }

// open begins with an account.
func (k *book) open(account int) {
	k.account, k.next = account, 0
	k.source = newSource(k.seed, uint64(account)<<8|1)
	k.lots = map[int][]lot{}
	k.opening = k.source.between(1_000_000, 10_000_000)
	k.balance = k.opening
}

func (k *book) customer() int { return (k.account-1)/accountsPer + 1 }

// tier is the tier of a customer.
func (k *book) tier(customer int) int { return k.z.tierOf(k.ranks[(customer-1)%len(k.ranks)]) }

// trade executes the next trade of the account; there is none beyond the last.
func (k *book) trade() (p past, more bool) {
	if k.next == k.z.each() {
		return p, false
	}
	p.account, p.customer = k.account, k.customer()
	p.orderRequest = k.source.wish(k.z, k.account)
	tier := k.tier(p.customer)
	p.deal = deal{
		trade: k.next*k.z.accounts() + k.account, quantity: p.orderRequest.quantity, price: k.source.between(lowest, highest),
		order: p.orderRequest.order, lifo: p.orderRequest.lifo,
		charge: charge(p.orderRequest.order, tier), rate: rate(p.orderRequest.order, tier, stepOf(p.orderRequest.quantity)),
		taxStatus: taxStatus(k.account), taxRate: taxRate(p.customer),
	}
	if p.deal.order.market() {
		p.bid = p.deal.price
	}
	k.next++
	p.when = k.z.when(p.trade)
	lots := k.lots[p.security]
	used := lots
	if p.deal.lifo {
		used = reversed(lots)
	}
	p.outcome = p.deal.execute(used)
	k.lots[p.security] = p.after(lots, p.deal)
	if !p.margin {
		k.balance += p.amount
	}
	return p, true
}

func reversed(lots []lot) []lot {
	r := make([]lot, 0, len(lots))
	for i := len(lots) - 1; i >= 0; i-- {
		r = append(r, lots[i])
	}
	return r
}

// after are the lots that are left after a deal.
func (o *outcome) after(lots []lot, d deal) []lot {
	for _, s := range o.steps[:o.count] {
		for i := range lots {
			if lots[i].trade == s.lot {
				lots[i].quantity = s.after
			}
		}
	}
	left := lots[:0]
	for _, l := range lots {
		if l.quantity != 0 {
			left = append(left, l)
		}
	}
	if o.rest != 0 {
		left = append(left, lot{d.trade, d.price, o.rest})
	}
	return left
}
