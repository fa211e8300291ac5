package brokerage

import (
	"fmt"
	"strconv"
	"time"

	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
)

// table is one whose rows belong to a broker's customers. Its rows are those of each
// customer, of each trade of an account, of an account after them, and of the broker;
// nil is none.
type table struct {
	name     string
	customer func(b []byte, k *book, customer int) []byte
	trade    func(b []byte, p *past) []byte
	account  func(b []byte, k *book) []byte
	broker   func(b []byte, t total) []byte
}

// total are the totals of a broker.
type total struct{ broker, trades, commission int }

var filled = []table{
	{name: "broker", broker: brokerRow},
	{name: "customer", customer: customerRow},
	{name: "customer_account", account: accountRow},
	{name: "watch_item", customer: watchRows},
	{name: "trade", trade: tradeRow},
	{name: "trade_history", trade: historyRows},
	{name: "settlement", trade: settlementRow},
	{name: "cash_transaction", trade: cashRow},
	{name: "holding_summary", account: summaryRows},
	{name: "holding", account: holdingRows},
	{name: "holding_history", trade: stepRows},
}

// pieces fill a table, several at once. PostgreSQL takes the rows of a broker one account
// after the other. MariaDB, which keeps rows in the order of their keys, takes those of
// trades in the order in which these are numbered.
func (t table) pieces(protocol string, z size, seed uint64) (all []dataset.Job) {
	what, each, start := "broker", customersPerBroker, t.byAccount
	if protocol == engine.MariaDB && t.trade != nil {
		what, each, start = "block", z.block(), t.byTrade
	}
	for n := range z.customers / each {
		all = append(all, dataset.Rows(fmt.Sprintf("%s of %s %d", t.name, what, n+1), t.name, "", func() func(b []byte) ([]byte, bool) {
			return start(newBook(z, seed), n*each*accountsPer+1, each*accountsPer)
		}))
	}
	return all
}

// byAccount are the rows of the accounts of a broker from the first on: those of an account
// in one call, and those of the broker at last.
func (t table) byAccount(k *book, first, accounts int) func(b []byte) ([]byte, bool) {
	i, sum := 0, total{broker: brokerOf(first/accountsPer + 1)}
	return func(b []byte) ([]byte, bool) {
		if i == accounts {
			if t.broker != nil {
				b = t.broker(b, sum)
			}
			return b, false
		}
		k.open(first + i)
		i++
		return t.of(b, k, &sum), true
	}
}

// byTrade are the rows of the trades of accounts from the first on: the first trade of each,
// then the second, and so on.
func (t table) byTrade(k *book, first, accounts int) func(b []byte) ([]byte, bool) {
	books := make([]book, accounts)
	for i := range books {
		books[i] = *k
		books[i].open(first + i)
	}
	i := 0
	return func(b []byte) ([]byte, bool) {
		p, more := books[i].trade()
		if more {
			b = t.trade(b, &p)
		}
		i = (i + 1) % accounts
		return b, more
	}
}

// of appends the rows of an account, and of its customer where it is his first.
func (t table) of(b []byte, k *book, sum *total) []byte {
	if t.customer != nil && k.account%accountsPer == 1 {
		b = t.customer(b, k, k.customer())
	}
	if t.trade == nil && t.account == nil && t.broker == nil {
		return b
	}
	for p, more := k.trade(); more; p, more = k.trade() {
		sum.trades++
		sum.commission += p.commission
		if t.trade != nil {
			b = t.trade(b, &p)
		}
	}
	if t.account != nil {
		b = t.account(b, k)
	}
	return b
}

func brokerRow(b []byte, t total) []byte {
	b = dataset.Integers(b, t.broker)
	b = words(b, "Broker "+strconv.Itoa(t.broker))
	return ends(money(dataset.Integers(b, t.trades), t.commission))
}

// appendTax appends the tax identity of a customer.
func appendTax(b []byte, customer int) []byte {
	return append(strconv.AppendInt(append(b, "TAX"...), int64(100_000_000+customer), 10), "XX"...)
}

// appendCustomer appends the name of a customer.
func appendCustomer(b []byte, customer int) []byte {
	return appendSymbol(append(b, "Mr "...), customer)
}

func customerRow(b []byte, k *book, customer int) []byte {
	s := newSource(k.seed, uint64(customer)<<8|4)
	b = dataset.Tab(appendTax(dataset.Integers(b, customer), customer))
	b = dataset.Tab(appendCustomer(b, customer))
	b = dataset.Tab(s.letters(b, 12))
	b = money(dataset.Integers(b, k.tier(customer)), taxRate(customer))
	b = dataset.Tab(s.letters(b, 10))
	return dataset.Line(append(s.letters(b, 20), "@example.org"...))
}

func accountRow(b []byte, k *book) []byte {
	b = dataset.Integers(b, k.account, brokerOf(k.customer()), k.customer())
	b = words(b, "Account "+strconv.Itoa(k.account))
	return ends(money(dataset.Integers(b, taxStatus(k.account)), k.opening, k.balance))
}

func watchRows(b []byte, k *book, customer int) []byte {
	s := newSource(k.seed, uint64(customer)<<8|5)
	n := k.z.securities()
	from := s.IntN(n)
	for i := range min(watched, n) {
		b = ends(symbol(dataset.Integers(b, customer), (from+i)%n))
	}
	return b
}

// The times of a trade: a limit order waits, and the exchange takes its time.
const (
	waits     = time.Minute
	exchanges = 2 * time.Second
)

func tradeRow(b []byte, p *past) []byte {
	b = instant(dataset.Integers(b, p.trade), p.when.Add(exchanges))
	b = words(b, "CMPT", orderIDs[p.deal.order], truth(!p.margin))
	b = money(dataset.Integers(symbol(b, p.security), p.deal.quantity), p.bid)
	b = dataset.Tab(appendCustomer(dataset.Integers(b, p.account), p.customer))
	b = money(b, p.price, p.charge, p.commission, p.tax)
	return ends(words(b, truth(p.deal.lifo)))
}

func historyRows(b []byte, p *past) []byte {
	if !p.deal.order.market() {
		b = ends(words(instant(dataset.Integers(b, p.trade), p.when.Add(-waits)), "PNDG"))
	}
	b = ends(words(instant(dataset.Integers(b, p.trade), p.when), "SBMT"))
	return ends(words(instant(dataset.Integers(b, p.trade), p.when.Add(exchanges)), "CMPT"))
}

func cashType(cash bool) string {
	if cash {
		return "Cash Account"
	}
	return "Margin"
}

func settlementRow(b []byte, p *past) []byte {
	b = words(dataset.Integers(b, p.trade), cashType(!p.margin))
	return ends(money(day(b, p.when.AddDate(0, 0, 2)), p.amount))
}

// appendCash appends the description of a cash transaction.
func appendCash(b []byte, o order, quantity int, security []byte) []byte {
	b = append(append(b, orderNames[o]...), ' ')
	b = append(strconv.AppendInt(b, int64(quantity), 10), " shares of "...)
	return append(b, security...)
}

func cashRow(b []byte, p *past) []byte {
	if p.margin {
		return b
	}
	b = money(instant(dataset.Integers(b, p.trade), p.when.Add(exchanges)), p.amount)
	return dataset.Line(appendCash(b, p.deal.order, p.deal.quantity, appendName(nil, p.security)))
}

func summaryRows(b []byte, k *book) []byte {
	for security := range k.z.securities() {
		sum := 0
		for _, l := range k.lots[security] {
			sum += l.quantity
		}
		if sum != 0 {
			b = ends(dataset.Integers(symbol(dataset.Integers(b, k.account), security), sum))
		}
	}
	return b
}

func holdingRows(b []byte, k *book) []byte {
	for security := range k.z.securities() {
		for _, l := range k.lots[security] {
			b = symbol(dataset.Integers(b, l.trade, k.account), security)
			b = instant(b, k.z.when(l.trade).Add(exchanges))
			b = ends(dataset.Integers(money(b, l.price), l.quantity))
		}
	}
	return b
}

func stepRows(b []byte, p *past) []byte {
	for _, s := range p.steps[:p.count] {
		b = ends(dataset.Integers(b, s.lot, p.trade, s.before, s.after))
	}
	return b
}
