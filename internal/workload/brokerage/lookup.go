package brokerage

import (
	"slices"

	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

// The frames of a trade lookup: trades by number, of an account, of a security, and the
// holdings history of one trade.
const (
	byNumber = iota
	ofAccount
	ofSecurity
	ofHolding
	frames
)

// frameShares are their shares, in percent.
var frameShares = [frames]int{30, 30, 30, 10}

// mostTrades is how many trades a lookup is about.
const mostTrades = 20

type lookState struct {
	frame             int
	account, security int
	from              int // the trade since whose time they are looked for
	ids               [mostTrades]int
	count             int
}

func (d *connectionScript) drawLookup() {
	l := &d.look
	n := d.source.IntN(100)
	for l.frame = 0; n >= frameShares[l.frame]; l.frame++ {
		n -= frameShares[l.frame]
	}
	d.tally.frames[l.frame]++
	customer, _ := d.source.customer(d.z)
	l.account, l.security = d.source.account(customer), d.source.IntN(d.z.securities())
	l.from = d.source.past(d.z)
	if l.frame != byNumber {
		return
	}
	for i := 0; i < mostTrades; i++ {
		id := d.source.past(d.z)
		for slices.Contains(l.ids[:i], id) {
			id = id%d.z.trades() + 1
		}
		l.ids[i] = id
	}
}

// since is the time from which trades are looked for.
func (d *connectionScript) since() []byte {
	d.name = d.z.when(d.look.from).AppendFormat(d.name[:0], "2006-01-02 15:04:05")
	return d.name
}

// identities are the trades, the first of them for those that are too few.
func identities(ids []int) (values [mostTrades]engine.Value) {
	for i := range values {
		values[i] = engine.Int(ids[0])
		if i < len(ids) {
			values[i] = engine.Int(ids[i])
		}
	}
	return values
}

func (d *connectionScript) askLookup(b []byte, t dialogue.Turn) ([]byte, dialogue.Step) {
	l := &d.look
	if t.First() {
		d.drawLookup()
	}
	if t.Round == 2 {
		return d.details(b)
	}
	l.count = 0
	switch l.frame {
	case byNumber:
		ids := identities(l.ids[:])
		b = d.session.Append(b, tlTrades, ids[:]...)
	case ofSecurity:
		b = d.session.Append(b, tlOf, engine.Text(d.symbol(l.security)), engine.Text(d.since()))
	case ofHolding:
		b = d.session.Append(b, tlFirst, engine.Int(l.account), engine.Text(d.since()))
	default:
		b = d.session.Append(b, tlOwn, engine.Int(l.account), engine.Text(d.since()))
	}
	return b, dialogue.Another
}

// details reads the details of the trades found.
func (d *connectionScript) details(b []byte) ([]byte, dialogue.Step) {
	l := &d.look
	switch {
	case l.count == 0:
	case l.frame == ofHolding:
		b = d.session.Append(b, tlSteps, engine.Int(l.ids[0]))
	default:
		ids := identities(l.ids[:l.count])
		for _, statement := range [...]int{tlSettle, tlCash, tlStates} {
			b = d.session.Append(b, statement, ids[:]...)
		}
	}
	return b, dialogue.Commit
}

func (d *connectionScript) lookupRow(t dialogue.Turn, r *engine.Row) error {
	l := &d.look
	if t.Round == 2 {
		return r.Rest()
	}
	if t.Results != 1 || l.count == mostTrades {
		return errRows
	}
	id := int(r.Int())
	if l.frame != byNumber {
		l.ids[l.count] = id // those by number stay as they were drawn, for another attempt
	}
	l.count++
	return r.Rest()
}
