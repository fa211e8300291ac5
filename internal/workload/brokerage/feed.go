package brokerage

import (
	"slices"

	"plimsoll/internal/postgres"
	"plimsoll/internal/postgres/dialogue"
)

// ticks is how many prices a feed brings.
const ticks = 20

type tick struct{ security, price, quantity int }

type feedState struct {
	ticks [ticks]tick
	hits  []int // trades that a price sent to the exchange
}

// askFeed writes new prices, and sends to the exchange the limit orders that they reach.
// Securities come in their order, so that two feeds do not wait for each other in a circle.
func (d *desk) askFeed(b []byte, t dialogue.Turn) []byte {
	f := &d.feed
	if t.First() {
		for i := range f.ticks {
			f.ticks[i] = tick{d.IntN(d.z.securities()), d.between(lowest, highest), quantities[d.IntN(len(quantities))]}
		}
		slices.SortFunc(f.ticks[:], func(a, b tick) int { return a.security - b.security })
	}
	f.hits = f.hits[:0]
	for _, tick := range f.ticks {
		var at int
		security := d.symbol(tick.security)
		b, at = mfPrice.AppendBind(b)
		b = postgres.AppendDecimal(postgres.AppendText(b, security), int64(tick.price))
		b = postgres.AppendExecute(postgres.AppendInt(b, int32(tick.quantity)), at)
		b, at = mfHits.AppendBind(b)
		b = postgres.AppendDecimal(postgres.AppendText(b, security), int64(tick.price))
		b = postgres.AppendExecute(b, at)
	}
	return dialogue.Execute(b, dialogue.Commit)
}

func (d *desk) feedRow(t dialogue.Turn, r postgres.Row) error {
	if t.Results < 2 || t.Results > 2*ticks || t.Results%2 != 0 {
		return errRows
	}
	d.feed.hits = append(d.feed.hits, int(r.Int()))
	return r.End()
}
