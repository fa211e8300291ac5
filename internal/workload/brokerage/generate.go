package brokerage

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/wire"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
)

func words(b []byte, list ...string) []byte {
	for _, w := range list {
		b = dataset.Tab(append(b, w...))
	}
	return b
}

// money appends hundredths, with a tab after each.
func money(b []byte, list ...int) []byte {
	for _, n := range list {
		b = dataset.Tab(wire.AppendHundredths(b, int64(n)))
	}
	return b
}

// ends makes the last tab the end of the line.
func ends(b []byte) []byte {
	b[len(b)-1] = '\n'
	return b
}

func instant(b []byte, t time.Time) []byte {
	return dataset.Tab(t.AppendFormat(b, "2006-01-02 15:04:05"))
}
func day(b []byte, t time.Time) []byte { return dataset.Tab(t.AppendFormat(b, "2006-01-02")) }
func symbol(b []byte, n int) []byte    { return dataset.Tab(appendSymbol(b, n)) }

func truth(v bool) string {
	if v {
		return "1"
	}
	return "0"
}

// fills are the independent pieces of all tables.
func fills(protocol string, z size, seed uint64) []dataset.Job {
	all := []dataset.Job{
		dataset.SQL("small tables", fixed(protocol, z)),
		rows("security", 0, z.securities(), func(b []byte, i int) []byte { return securityRow(b, i) }),
		lastTrades(z, seed),
	}
	const together = 50
	for from := 0; from < z.securities(); from += together {
		all = append(all, rows("daily_market", from, min(from+together, z.securities()), func(b []byte, i int) []byte { return dailyRows(b, i, newSource(seed, uint64(i)<<8|3)) }))
	}
	for _, t := range filled {
		all = append(all, t.pieces(protocol, z, seed)...)
	}
	return all
}

func lastTrades(z size, seed uint64) dataset.Job {
	return rows("last_trade", 0, z.securities(), func(b []byte, i int) []byte { return lastTradeRow(b, i, newSource(seed, uint64(i)<<8|2)) })
}

// rows fills a table, with one call for each number in a range.
func rows(table string, from, to int, row func(b []byte, i int) []byte) dataset.Job {
	return dataset.Rows(table+" from "+strconv.Itoa(from), table, "", func() func(b []byte) ([]byte, bool) {
		i := from
		return func(b []byte) ([]byte, bool) {
			b = row(b, i)
			i++
			return b, i < to
		}
	})
}

// fixed is the SQL of small tables.
func fixed(protocol string, z size) string {
	var b strings.Builder
	b.WriteString("INSERT INTO status_type VALUES ('PNDG', 'Pending'), ('SBMT', 'Submitted'), ('CMPT', 'Completed');")
	for o := range orders {
		fmt.Fprintf(&b, "INSERT INTO trade_type VALUES ('%s', '%s', %t, %t);", orderIDs[o], orderNames[o], o.sells(), o.market())
		for tier := 1; tier <= 3; tier++ {
			fmt.Fprintf(&b, "INSERT INTO charge VALUES ('%s', %d, %d / 100.0);", orderIDs[o], tier, charge(o, tier))
			for n, most := range steps {
				least := 1
				if n > 0 {
					least = steps[n-1] + 1
				}
				fmt.Fprintf(&b, "INSERT INTO commission_rate VALUES (%d, '%s', %d, %d, %d / 100.0);", tier, orderIDs[o], least, most, rate(o, tier, n))
			}
		}
	}
	if protocol == engine.PostgreSQL {
		fmt.Fprintf(&b, "SELECT setval('trade_id', %d);", z.trades())
	}
	return strings.TrimSuffix(b.String(), ";")
}

func securityRow(b []byte, i int) []byte {
	b = words(symbol(b, i), "COMMON")
	b = dataset.Tab(appendName(b, i))
	return ends(dataset.Integers(b, i%industries+1, 1_000_000+i*977%9_000_000))
}

func lastTradeRow(b []byte, i int, s source) []byte {
	b = instant(symbol(b, i), began)
	price := s.between(lowest, highest)
	return ends(dataset.Integers(money(b, price, price), 0))
}

func dailyRows(b []byte, i int, s source) []byte {
	for n := range tradingDays {
		price := s.between(lowest, highest)
		b = symbol(day(b, closing(n)), i)
		b = ends(dataset.Integers(money(b, price, price+150, price-150), s.between(1000, 10_000)))
	}
	return b
}
