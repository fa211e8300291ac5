package brokerage

import (
	"slices"
	"strconv"

	"plimsoll/internal/postgres"
	"plimsoll/internal/postgres/dialogue"
)

// The frames of a trade lookup: trades by their numbers, of an account, of a security,
// and what became of one trade's shares.
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

func (d *desk) drawLookup() {
	l := &d.look
	n := d.IntN(100)
	for l.frame = 0; n >= frameShares[l.frame]; l.frame++ {
		n -= frameShares[l.frame]
	}
	d.tally.frames[l.frame]++
	customer, _ := d.source.customer(d.z)
	l.account, l.security = d.source.account(customer), d.IntN(d.z.securities())
	l.from = d.past(d.z)
	if l.frame != byNumber {
		return
	}
	for i := 0; i < mostTrades; i++ {
		id := d.past(d.z)
		for slices.Contains(l.ids[:i], id) {
			id = id%d.z.trades() + 1
		}
		l.ids[i] = id
	}
}

// since is the time from which trades are looked for.
func (d *desk) since() []byte {
	d.text = d.z.when(d.look.from).AppendFormat(d.text[:0], "2006-01-02 15:04:05")
	return d.text
}

// numbers are the trades, as an array.
func (d *desk) numbers(ids []int) []byte {
	d.text = append(d.text[:0], '{')
	for i, id := range ids {
		if i > 0 {
			d.text = append(d.text, ',')
		}
		d.text = strconv.AppendInt(d.text, int64(id), 10)
	}
	d.text = append(d.text, '}')
	return d.text
}

func (d *desk) askLookup(b []byte, t dialogue.Turn) []byte {
	l := &d.look
	if t.First() {
		d.drawLookup()
	}
	if t.Round == 2 {
		return d.details(b)
	}
	l.count = 0
	var at int
	switch l.frame {
	case byNumber:
		b, at = tlTrades.AppendBind(b)
		b = postgres.AppendText(b, d.numbers(l.ids[:]))
	case ofSecurity:
		b, at = tlOf.AppendBind(b)
		b = postgres.AppendText(b, d.symbol(l.security))
		b = postgres.AppendText(b, d.since())
	default:
		statement := tlOwn
		if l.frame == ofHolding {
			statement = tlFirst
		}
		b, at = statement.AppendBind(b)
		b = postgres.AppendText(postgres.AppendInt(b, int32(l.account)), d.since())
	}
	return postgres.AppendExecute(b, at)
}

// details asks for what belongs to the trades that were found.
func (d *desk) details(b []byte) []byte {
	l := &d.look
	switch {
	case l.count == 0:
	case l.frame == ofHolding:
		b = dialogue.Execute(b, tlSteps, l.ids[0])
	default:
		ids := d.numbers(l.ids[:l.count])
		for _, statement := range [...]*postgres.Statement{tlSettle, tlCash, tlStates} {
			var at int
			b, at = statement.AppendBind(b)
			b = postgres.AppendExecute(postgres.AppendText(b, ids), at)
		}
	}
	return dialogue.Execute(b, dialogue.Commit)
}

func (d *desk) lookupRow(t dialogue.Turn, r postgres.Row) error {
	l := &d.look
	if t.Round == 2 {
		return pass(r)
	}
	if t.Results != 1 || l.count == mostTrades {
		return errRows
	}
	id := int(r.Int())
	if l.frame != byNumber {
		l.ids[l.count] = id // those by number stay as they were drawn, for another attempt
	}
	l.count++
	return pass(r)
}
