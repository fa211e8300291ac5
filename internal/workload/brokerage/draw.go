package brokerage

import "math/rand/v2"

// source draws random values for the load and the data.
type source struct{ *rand.Rand }

func newSource(seed, stream uint64) source { return source{rand.New(rand.NewPCG(seed, stream))} }

// between is uniform over lowest..highest, both included.
func (s source) between(lowest, highest int) int { return lowest + s.IntN(highest-lowest+1) }

// chance is true with a probability in per cent.
func (s source) chance(percent int) bool { return s.IntN(100) < percent }

// customer draws a customer, and returns its tier.
func (s source) customer(z size) (customer, tier int) {
	rank := weight(s.Float64()*2000) * z.block() / unit
	return z.ranked(s.IntN(z.customers/z.block()), rank), z.tierOf(rank)
}

// account draws an account of a customer.
func (s source) account(customer int) int {
	return (customer-1)*accountsPer + s.between(1, accountsPer)
}

// past draws a trade of the first data, later ones of a stretch more often, as NURand
// with 65535 does.
func (s source) past(z size) int {
	n := z.trades()
	return (s.between(0, 65535)|s.between(1, n))%n + 1
}

// Percentages of orders.
const (
	marketShare = 60
	stopShare   = 50 // of the sales at a limit
	sellShare   = 50
	lifoShare   = 35
	marginShare = 8
	nameShare   = 40 // whose security is given by its name
	rolledShare = 1
)

var quantities = [...]int{100, 200, 400, 800}

// orderRequest is an order as it is drawn.
type orderRequest struct {
	order        order
	security     int
	quantity     int
	lifo, margin bool
	bid          int // of a limit order, hundredths
}

func (s source) wish(z size, account int) orderRequest {
	w := orderRequest{security: z.security(account, s.IntN(held)), quantity: quantities[s.IntN(len(quantities))], lifo: s.chance(lifoShare), margin: s.chance(marginShare)}
	market, sell := s.chance(marketShare), s.chance(sellShare)
	switch {
	case market && sell:
		w.order = marketSell
	case market:
		w.order = marketBuy
	case !sell:
		w.order = limitBuy
	case s.chance(stopShare):
		w.order = stopLoss
	default:
		w.order = limitSell
	}
	w.bid = s.between(lowestBid, highestBid)
	return w
}

// letters appends random letters.
func (s source) letters(b []byte, n int) []byte {
	for range n {
		b = append(b, byte('a'+s.IntN(26)))
	}
	return b
}
