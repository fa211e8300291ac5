package brokerage

import (
	"slices"

	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

// quotes is how many prices a feed brings.
const quotes = 20

type quote struct{ security, price, quantity int }

type feedState struct {
	quotes [quotes]quote
	hits   []int // trades that a price sent to the exchange
}

// askFeed writes new prices, and sends the limit orders that they trigger to the exchange.
// Securities are updated in order, so that two feeds do not deadlock.
func (d *connectionScript) askFeed(b []byte, t dialogue.Turn) ([]byte, dialogue.Step) {
	f := &d.feed
	if t.First() {
		for i := range f.quotes {
			f.quotes[i] = quote{d.source.IntN(d.z.securities()), d.source.between(lowest, highest), quantities[d.source.IntN(len(quantities))]}
		}
		slices.SortFunc(f.quotes[:], func(a, b quote) int { return a.security - b.security })
	}
	f.hits = f.hits[:0]
	for _, q := range f.quotes {
		security, price := engine.Text(d.symbol(q.security)), engine.Decimal(int64(q.price))
		b = d.session.Append(b, mfPrice, security, price, engine.Int(q.quantity))
		b = d.session.Append(b, mfHits, security, price)
	}
	return b, dialogue.Commit
}

func (d *connectionScript) feedRow(t dialogue.Turn, r *engine.Row) error {
	if t.Results < 2 || t.Results > 2*quotes || t.Results%2 != 0 {
		return errRows
	}
	d.feed.hits = append(d.feed.hits, int(r.Int()))
	return r.End()
}
