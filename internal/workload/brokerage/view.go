package brokerage

import (
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

// Percentages of position and watch transactions.
const (
	taxShare      = 50 // customers by their tax identity
	historyShare  = 50 // with the history of an account
	listShare     = 60 // the list of a customer; the rest is what an account holds, and
	industryShare = 5  // an industry
)

// viewState is the state of a read-only transaction.
type viewState struct {
	customer, account int
	history, byTax    bool
	pick              int // which of the accounts
	accounts          int
	statement         int
	about, day        int
}

func (d *connectionScript) drawAccount() {
	customer, _ := d.source.customer(d.z)
	d.view.customer, d.view.account = customer, d.source.account(customer)
}

// askStatus reads the last 50 trades of an account.
func (d *connectionScript) askStatus(b []byte, t dialogue.Turn) ([]byte, dialogue.Step) {
	if t.First() {
		d.drawAccount()
	}
	account := engine.Int(d.view.account)
	return d.session.Append(d.session.Append(b, tsTrades, account), tsWho, account), dialogue.Commit
}

// askPosition reads the value of a customer's accounts, and in half of the cases the
// history of the last ten trades of one of them.
func (d *connectionScript) askPosition(b []byte, t dialogue.Turn) ([]byte, dialogue.Step) {
	v := &d.view
	if t.First() {
		d.drawAccount()
		v.byTax, v.history, v.pick = d.source.chance(taxShare), d.source.chance(historyShare), d.source.IntN(accountsPer)
		d.tally.position(v)
	}
	if t.Round == 2 {
		return d.session.Append(b, cpHistory, engine.Int(v.account)), dialogue.Commit
	}
	v.accounts = 0
	if v.byTax {
		d.text = appendTax(d.text[:0], v.customer)
		b = d.session.Append(b, cpTax, engine.Text(d.text))
	} else {
		b = d.session.Append(b, cpNumber, engine.Int(v.customer))
	}
	b = d.session.Append(b, cpAccounts, engine.Int(v.customer))
	if v.history {
		return b, dialogue.Another
	}
	return b, dialogue.Commit
}

func (d *connectionScript) positionRow(t dialogue.Turn, r *engine.Row) error {
	v := &d.view
	if t.Round == 1 && t.Results == 2 {
		if id := int(r.Int()); v.accounts == v.pick {
			v.account = id
		}
		v.accounts++
	}
	return r.Rest()
}

// askWatch reads the change in value of a watch list, an industry or an account's holdings
// since a day.
func (d *connectionScript) askWatch(b []byte, t dialogue.Turn) ([]byte, dialogue.Step) {
	v := &d.view
	if t.First() {
		d.drawAccount()
		v.day = d.source.IntN(tradingDays)
		switch n := d.source.IntN(100); {
		case n < listShare:
			v.statement, v.about = mwList, v.customer
			d.tally.lists++
		case n < listShare+industryShare:
			v.statement, v.about = mwIndustry, d.source.between(1, industries)
			d.tally.industries++
		default:
			v.statement, v.about = mwAccount, v.account
		}
	}
	d.text = closing(v.day).AppendFormat(d.text[:0], "2006-01-02")
	return d.session.Append(b, v.statement, engine.Int(v.about), engine.Text(d.text)), dialogue.Commit
}
