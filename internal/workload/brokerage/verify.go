package brokerage

import "plimsoll/internal/engine/dataset"

// conditions are what the data has to keep to. The first of them cost the least.
func conditions() []dataset.Condition {
	const (
		completed = `FROM trade WHERE t_st_id = 'CMPT'`
		shares    = `CASE WHEN tt_is_sell THEN -t_qty ELSE t_qty END`
		typed     = `FROM trade JOIN trade_type ON tt_id = t_tt_id`
	)
	list := []struct{ what, sql string }{
		{"what waits for a price is pending", dataset.Unequal("t", `SELECT t_id AS t, 1 AS n FROM trade WHERE t_st_id = 'PNDG'`, `SELECT tr_t_id, -1 FROM trade_request`)},
		{"a broker's trades and commissions are those of his accounts", `SELECT count(*) FROM broker LEFT JOIN (SELECT ca_b_id, count(*) AS trades, sum(t_comm) AS comm
			FROM trade JOIN customer_account ON ca_id = t_ca_id WHERE t_st_id = 'CMPT' GROUP BY 1) AS t ON ca_b_id = b_id
			WHERE b_num_trades <> coalesce(trades, 0) OR b_comm_total <> coalesce(comm, 0)`},
		{"an account's balance is what was paid", dataset.Unequal("a", `SELECT ca_id AS a, ca_bal - ca_opening AS n FROM customer_account`, `SELECT t_ca_id, -ct_amt FROM cash_transaction JOIN trade ON t_id = ct_t_id`)},
		{"the sum of a security is that of its lots", dataset.Unequal("a, s", `SELECT hs_ca_id AS a, hs_s_symb AS s, hs_qty AS n FROM holding_summary`, `SELECT h_ca_id, h_s_symb, -h_qty FROM holding`)},
		{"what is held was traded", dataset.Unequal("a, s", `SELECT hs_ca_id AS a, hs_s_symb AS s, hs_qty AS n FROM holding_summary`, `SELECT t_ca_id, t_s_symb, -(`+shares+`) `+typed+` WHERE t_st_id = 'CMPT'`)},
		{"a lot is what its history says", dataset.Unequal("t", `SELECT hh_h_t_id AS t, hh_after_qty - hh_before_qty AS n FROM holding_history`, `SELECT h_t_id, -h_qty FROM holding`)},
		{"a trade is in the history of lots with its shares", dataset.Unequal("t", `SELECT hh_t_id AS t, hh_after_qty - hh_before_qty AS n FROM holding_history`, `SELECT t_id, -(`+shares+`) `+typed+` WHERE t_st_id = 'CMPT'`)},
		{"what is completed is settled", dataset.Unequal("t", `SELECT t_id AS t, 1 AS n `+completed, `SELECT se_t_id, -1 FROM settlement`)},
		{"what is settled in cash is paid", dataset.Unequal("t", `SELECT se_t_id AS t, se_amt AS n FROM settlement JOIN trade ON t_id = se_t_id WHERE t_is_cash`, `SELECT ct_t_id, -ct_amt FROM cash_transaction`)},
		{"a trade has been in the states that led to its own", dataset.Unequal("t", `SELECT t_id AS t, CASE t_st_id WHEN 'PNDG' THEN 0 WHEN 'SBMT' THEN 1 ELSE 2 END + CASE WHEN tt_is_mrkt THEN 0 ELSE 1 END AS n `+typed, `SELECT th_t_id, -1 FROM trade_history`)},
	}
	all := make([]dataset.Condition, len(list))
	for i, c := range list {
		all[i] = dataset.Condition{Number: i + 1, What: c.what, SQL: c.sql}
	}
	return all
}
