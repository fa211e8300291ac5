package brokerage

import (
	"math"
	"time"
)

// size is the scale of the data.
type size struct {
	customers int
	days      int // of trade before the load begins
}

const (
	unit               = 1000 // customers among whom their tiers are distributed
	customersPerBroker = 100
	accountsPer        = 5  // of a customer
	held               = 10 // securities of an account
	industries         = 102
	watched            = 100  // securities of the list of a customer, at most
	tradingDays        = 1305 // of which the closing prices are there: five years
)

func (z size) accounts() int   { return z.customers * accountsPer }
func (z size) securities() int { return z.customers * 685 / unit }

// each is how many trades an account has at first: 8 hours a day, and a trade a second
// for every 500 customers.
func (z size) each() int   { return z.days * 8 * 3600 / 500 / accountsPer }
func (z size) trades() int { return z.each() * z.accounts() }

// block is how many customers share one distribution of tiers.
func (z size) block() int { return min(unit, z.customers) }

// stride spreads neighbours in rank over the brokers: a prime that divides no block.
const stride = 71

// ranked is the customer of a rank, from 0 on, in a block.
func (z size) ranked(block, rank int) int { return block*z.block() + rank*stride%z.block() + 1 }

// ranks is the inverse of ranked in a block.
func (z size) ranks() []int {
	r := make([]int, z.block())
	for rank := range r {
		r[rank*stride%len(r)] = rank
	}
	return r
}

// tierOf is the tier of a rank: a fifth of the customers each in 1 and 3, the rest in 2.
func (z size) tierOf(rank int) int {
	switch place := rank * unit / z.block(); {
	case place < 200:
		return 1
	case place < 800:
		return 2
	}
	return 3
}

// weight draws the rank of a customer and its tier from w in 0 to 2000: 10 % of the
// draws are of tier 1, 60 % of 2 and 30 % of 3, and later ranks of a tier come more often
// (the customer selection of TPC-E's generator).
func weight(w float64) int {
	place := 0.
	switch {
	case w <= 200:
		place = math.Ceil(math.Sqrt(22500+500*w) - 151)
	case w <= 1400:
		place = math.Ceil(math.Sqrt(290000+1000*w) - 501)
	default:
		place = math.Ceil(149 + math.Sqrt(500*w-277500))
	}
	return min(max(0, int(place)), unit-1)
}

// security is the number of the security k of an account.
func (z size) security(account, k int) int {
	x := uint64(account)*held + uint64(k) + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) % uint64(z.securities()))
}

// appendSymbol appends the symbol of a security: six letters.
func appendSymbol(b []byte, n int) []byte {
	at := len(b)
	b = append(b, "AAAAAA"...)
	for i := at + 5; n > 0; i-- {
		b[i] += byte(n % 26)
		n /= 26
	}
	return b
}

// appendName appends the name of a security.
func appendName(b []byte, n int) []byte {
	return append(appendSymbol(append(b, "Common shares of "...), n), " Incorporated"...)
}

// began is when the first trade was made; it is the same in all data.
var began = time.Date(2020, 1, 6, 9, 0, 0, 0, time.UTC)

// when is the instant of a trade, which follows from its number: eight hours a day.
func (z size) when(trade int) time.Time {
	second := trade * 500 / z.customers
	return began.AddDate(0, 0, second/28800).Add(time.Duration(second%28800) * time.Second)
}

// closing is the day number n of which the closing prices are there.
func closing(n int) time.Time {
	return time.Date(2015, 1, 5, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n/5*7+n%5)
}

// Prices run evenly between these, in hundredths.
const (
	lowest  = 2000
	highest = 3000
)

// The bounds of limit prices: a market price reaches them in about half of the cases.
const (
	lowestBid  = 2400
	highestBid = 2600
)

// order is a type of trade.
type order uint8

const (
	marketBuy order = iota
	marketSell
	limitBuy
	limitSell
	stopLoss
	orders
)

var orderIDs = [orders]string{"TMB", "TMS", "TLB", "TLS", "TSL"}
var orderNames = [orders]string{"Market-Buy", "Market-Sell", "Limit-Buy", "Limit-Sell", "Stop-Loss"}

func (o order) sells() bool  { return o == marketSell || o >= limitSell }
func (o order) market() bool { return o <= marketSell }

// orderOf is the type with an identity.
func orderOf(id []byte) (order, bool) {
	for o, name := range orderIDs {
		if string(id) == name {
			return order(o), true
		}
	}
	return 0, false
}

// charge is the charge of an order, in hundredths.
func charge(o order, tier int) int { return 700 - 150*tier + 50*int(o) }

// steps are the quantities up to which the rates of commission hold.
var steps = [...]int{100, 200, 400, 1_000_000}

// rate is the commission of an order of step number n, in hundredths of a percent.
func rate(o order, tier, step int) int { return 100 - 20*tier - 10*step + int(o) }

// stepOf is the step of a quantity.
func stepOf(quantity int) int {
	for n, most := range steps {
		if quantity <= most {
			return n
		}
	}
	return len(steps) - 1
}

// taxRate is a customer's tax on gains, in hundredths of a percent, and taxStatus who taxes
// an account: 0 nobody, 1 the broker, 2 the customer.
func taxRate(customer int) int  { return 1000 + customer%20*100 }
func taxStatus(account int) int { return account % 3 }

// brokerOf is the broker of a customer.
func brokerOf(customer int) int { return (customer-1)/customersPerBroker + 1 }
