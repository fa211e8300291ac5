package brokerage

import (
	"context"
	"fmt"

	"plimsoll/internal/measure"
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
)

// firsts caches sums over the first trades for the conditions.
var firsts = []string{
	keep("first_broker", `b_id AS f_b_id, b_num_trades AS f_trades, b_comm_total AS f_comm FROM broker`),
	keep("first_balance", `ca_id AS f_ca_id, ca_bal AS f_bal FROM customer_account`),
	keep("first_summary", `hs_ca_id AS f_ca_id, hs_s_symb AS f_s_symb, hs_qty AS f_qty FROM holding_summary`),
}

// keep is SQL that may be run again.
func keep(table, what string) string {
	return "DROP TABLE IF EXISTS " + table + "; CREATE TABLE " + table + " AS SELECT " + what
}

// consistent checks the consistency conditions on added and changed data. A check of all
// first trades as well takes minutes.
func (k *brokerage) consistent(ctx context.Context, s engine.Conn) (measure.Check, error) {
	known := k.size().trades()
	c, err := dataset.Consistent(ctx, s, dataset.EnoughTime, conditions(known))
	c.Detail += fmt.Sprintf("; of the first %d trades what was changed since was looked at", known)
	return c, err
}

// scope is the data covered by conditions: trades with a number beyond known, and the rows
// that they changed; with 0 all of it.
type scope struct{ known int }

// beyond limits rows to trades in the scope, by the column with their number.
func (s scope) beyond(column string) string { return fmt.Sprintf("%s > %d", column, s.known) }

// and adds rows of the known sums; none where nothing is known.
func (s scope) and(kept string) string {
	if s.known == 0 {
		return ""
	}
	return " UNION ALL SELECT " + kept
}

// conditions are the consistency conditions, for data known up to a trade number.
func conditions(known int) []dataset.Condition {
	s := scope{known}
	const (
		shares = `CASE WHEN tt_is_sell THEN -t_qty ELSE t_qty END`
		typed  = `FROM trade JOIN trade_type ON tt_id = t_tt_id`
		steps  = `SELECT hh_h_t_id FROM holding_history WHERE `
		lots   = `SELECT h_t_id, -h_qty FROM holding`
	)
	completed := `t_st_id = 'CMPT' AND ` + s.beyond("t_id")
	opened, history, lot := `SELECT ca_id, -ca_opening FROM customer_account`, ``, lots
	if known > 0 {
		opened = `SELECT f_ca_id, -f_bal FROM first_balance`
		changed := `IN (` + steps + s.beyond("hh_t_id") + `)`
		history = ` WHERE hh_h_t_id ` + changed
		lot = lots + ` WHERE ` + s.beyond("h_t_id") + ` UNION ALL ` + lots + fmt.Sprintf(` WHERE h_t_id <= %d AND h_t_id `, known) + changed
	}
	list := []struct{ what, sql string }{
		{"what waits for a price is pending", dataset.Unequal("t", `SELECT t_id AS t, 1 AS n FROM trade WHERE t_st_id = 'PNDG' AND `+s.beyond("t_id"), `SELECT tr_t_id, -1 FROM trade_request`)},
		{"a broker's trades and commissions are those of his accounts", `SELECT count(*) FROM broker LEFT JOIN (SELECT b, sum(trades) AS trades, sum(comm) AS comm
			FROM (SELECT ca_b_id AS b, 1 AS trades, t_comm AS comm FROM trade JOIN customer_account ON ca_id = t_ca_id WHERE ` + completed + s.and(`f_b_id, f_trades, f_comm FROM first_broker`) + `) AS part
			GROUP BY b) AS t ON b = b_id WHERE b_num_trades <> coalesce(trades, 0) OR b_comm_total <> coalesce(comm, 0)`},
		{"an account's balance is what was paid", dataset.Unequal("a", `SELECT ca_id AS a, ca_bal AS n FROM customer_account UNION ALL `+opened,
			`SELECT t_ca_id, -ct_amt FROM cash_transaction JOIN trade ON t_id = ct_t_id WHERE `+s.beyond("ct_t_id"))},
		{"the sum of a security is that of its lots", dataset.Unequal("a, s", `SELECT hs_ca_id AS a, hs_s_symb AS s, hs_qty AS n FROM holding_summary`, `SELECT h_ca_id, h_s_symb, -h_qty FROM holding`)},
		{"what is held was traded", dataset.Unequal("a, s", `SELECT hs_ca_id AS a, hs_s_symb AS s, hs_qty AS n FROM holding_summary`,
			`SELECT t_ca_id, t_s_symb, -(`+shares+`) `+typed+` WHERE `+completed+s.and(`f_ca_id, f_s_symb, -f_qty FROM first_summary`))},
		{"a lot is what its history says", dataset.Unequal("t", `SELECT hh_h_t_id AS t, hh_after_qty - hh_before_qty AS n FROM holding_history`+history, lot)},
		{"a trade is in the history of lots with its shares", dataset.Unequal("t", `SELECT hh_t_id AS t, hh_after_qty - hh_before_qty AS n FROM holding_history WHERE `+s.beyond("hh_t_id"), `SELECT t_id, -(`+shares+`) `+typed+` WHERE `+completed)},
		{"what is completed is settled", dataset.Unequal("t", `SELECT t_id AS t, 1 AS n FROM trade WHERE `+completed, `SELECT se_t_id, -1 FROM settlement WHERE `+s.beyond("se_t_id"))},
		{"what is settled in cash is paid", dataset.Unequal("t", `SELECT se_t_id AS t, se_amt AS n FROM settlement JOIN trade ON t_id = se_t_id WHERE t_is_cash AND `+s.beyond("se_t_id"), `SELECT ct_t_id, -ct_amt FROM cash_transaction WHERE `+s.beyond("ct_t_id"))},
		{"a trade has been in the states that led to its own", dataset.Unequal("t", `SELECT t_id AS t, CASE t_st_id WHEN 'PNDG' THEN 0 WHEN 'SBMT' THEN 1 ELSE 2 END + CASE WHEN tt_is_mrkt THEN 0 ELSE 1 END AS n `+typed+` WHERE `+s.beyond("t_id"), `SELECT th_t_id, -1 FROM trade_history WHERE `+s.beyond("th_t_id"))},
	}
	all := make([]dataset.Condition, len(list))
	for i, c := range list {
		all[i] = dataset.Condition{Number: i + 1, What: c.what, SQL: c.sql}
	}
	return all
}
