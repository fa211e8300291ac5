package brokerage

import (
	"plimsoll/internal/postgres"
	"plimsoll/internal/postgres/dialogue"
)

const (
	i4 = postgres.AsBinary
	tx = postgres.AsText
)

// The statements of the transactions. Each is prepared once in a session.
var (
	toAccount = postgres.NewStatement("to_account", `SELECT ca_name, ca_b_id, ca_tax_st, c_id, c_tier, c_tax_rate, c_l_name, b_name
		FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = $1`, i4)
	toSymbol   = postgres.NewStatement("to_symbol", `SELECT s_symb, s_name, lt_price FROM security JOIN last_trade ON lt_s_symb = s_symb WHERE s_symb = $1`, tx)
	toName     = postgres.NewStatement("to_name", `SELECT s_symb, s_name, lt_price FROM security JOIN last_trade ON lt_s_symb = s_symb WHERE s_name = $1`, tx)
	toHoldings = postgres.NewStatement("to_holdings", `SELECT h_t_id, h_price, h_qty FROM holding WHERE h_ca_id = $1 AND h_s_symb = $2 ORDER BY h_dts, h_t_id LIMIT 8`, i4, tx)
	toLast     = postgres.NewStatement("to_last", `SELECT h_t_id, h_price, h_qty FROM holding WHERE h_ca_id = $1 AND h_s_symb = $2 ORDER BY h_dts DESC, h_t_id DESC LIMIT 8`, i4, tx)
	toRates    = postgres.NewStatement("to_rates", `SELECT ch_chrg, cr_rate FROM customer_account JOIN customer ON c_id = ca_c_id JOIN charge ON ch_c_tier = c_tier
		JOIN commission_rate ON cr_c_tier = c_tier AND cr_tt_id = ch_tt_id WHERE ca_id = $1 AND ch_tt_id = $2 AND $3 BETWEEN cr_from_qty AND cr_to_qty`, i4, tx, i4)
	toAssets = postgres.NewStatement("to_assets", `SELECT ca_bal + coalesce((SELECT sum(hs_qty * lt_price) FROM holding_summary JOIN last_trade ON lt_s_symb = hs_s_symb
		WHERE hs_ca_id = ca_id), 0) FROM customer_account WHERE ca_id = $1`, i4)
	toTrade = postgres.NewStatement("to_trade", `INSERT INTO trade VALUES (nextval('trade_id')::int, localtimestamp, $1, $2, $3, $4, $5, $6, $7, $8, NULL, $9, $10, 0, $11)
		RETURNING t_id`, tx, tx, tx, tx, i4, tx, i4, tx, tx, tx, tx)
	toHistory = postgres.NewStatement("to_history", `INSERT INTO trade_history VALUES (currval('trade_id')::int, localtimestamp, $1)`, tx)
	toRequest = postgres.NewStatement("to_request", `INSERT INTO trade_request VALUES (currval('trade_id')::int, $1, $2, $3, $4, $5)`, tx, tx, i4, tx, i4)

	trTrade = postgres.NewStatement("tr_trade", `SELECT t_ca_id, t_tt_id, t_s_symb, t_qty, t_chrg, t_lifo, t_is_cash, s_name FROM trade JOIN security ON s_symb = t_s_symb
		WHERE t_id = $1 AND t_st_id = 'SBMT'`, i4)
	// Results of one account take turns.
	trAccount = postgres.NewStatement("tr_account", `SELECT ca_b_id, ca_tax_st, c_tax_rate, cr_rate FROM trade JOIN customer_account ON ca_id = t_ca_id JOIN customer ON c_id = ca_c_id
		JOIN commission_rate ON cr_c_tier = c_tier AND cr_tt_id = t_tt_id AND t_qty BETWEEN cr_from_qty AND cr_to_qty WHERE t_id = $1 FOR UPDATE OF customer_account`, i4)
	trSummary  = postgres.NewStatement("tr_summary", `SELECT hs_qty FROM trade JOIN holding_summary ON hs_ca_id = t_ca_id AND hs_s_symb = t_s_symb WHERE t_id = $1`, i4)
	trHoldings = postgres.NewStatement("tr_holdings", `SELECT h_t_id, h_price, h_qty FROM trade JOIN holding ON h_ca_id = t_ca_id AND h_s_symb = t_s_symb WHERE t_id = $1
		ORDER BY CASE WHEN t_lifo THEN -extract(epoch FROM h_dts) ELSE extract(epoch FROM h_dts) END, CASE WHEN t_lifo THEN -h_t_id ELSE h_t_id END LIMIT 8`, i4)
	trSell    = postgres.NewStatement("tr_sell", `DELETE FROM holding WHERE h_t_id = $1`, i4)
	trChange  = postgres.NewStatement("tr_change", `UPDATE holding SET h_qty = $2 WHERE h_t_id = $1`, i4, i4)
	trHold    = postgres.NewStatement("tr_hold", `INSERT INTO holding VALUES ($1, $2, $3, localtimestamp, $4, $5)`, i4, i4, tx, tx, i4)
	trStep    = postgres.NewStatement("tr_step", `INSERT INTO holding_history VALUES ($1, $2, $3, $4)`, i4, i4, i4, i4)
	trFirst   = postgres.NewStatement("tr_first", `INSERT INTO holding_summary VALUES ($1, $2, $3)`, i4, tx, i4)
	trSum     = postgres.NewStatement("tr_sum", `UPDATE holding_summary SET hs_qty = $3 WHERE hs_ca_id = $1 AND hs_s_symb = $2`, i4, tx, i4)
	trNone    = postgres.NewStatement("tr_none", `DELETE FROM holding_summary WHERE hs_ca_id = $1 AND hs_s_symb = $2`, i4, tx)
	trDone    = postgres.NewStatement("tr_done", `UPDATE trade SET t_st_id = 'CMPT', t_dts = localtimestamp, t_trade_price = $2, t_comm = $3, t_tax = $4 WHERE t_id = $1`, i4, tx, tx, tx)
	trHistory = postgres.NewStatement("tr_history", `INSERT INTO trade_history VALUES ($1, localtimestamp, 'CMPT')`, i4)
	trSettle  = postgres.NewStatement("tr_settle", `INSERT INTO settlement VALUES ($1, $2, current_date + 2, $3)`, i4, tx, tx)
	trPay     = postgres.NewStatement("tr_pay", `UPDATE customer_account SET ca_bal = ca_bal + $2 WHERE ca_id = $1 RETURNING ca_bal`, i4, tx)
	trCash    = postgres.NewStatement("tr_cash", `INSERT INTO cash_transaction VALUES ($1, localtimestamp, $2, $3)`, i4, tx, tx)
	trBroker  = postgres.NewStatement("tr_broker", `UPDATE broker SET b_num_trades = b_num_trades + 1, b_comm_total = b_comm_total + $2 WHERE b_id = $1`, i4, tx)

	mfPrice = postgres.NewStatement("mf_price", `UPDATE last_trade SET lt_price = $2, lt_vol = lt_vol + $3::int, lt_dts = localtimestamp WHERE lt_s_symb = $1`, tx, tx, i4)
	mfHits  = postgres.NewStatement("mf_hits", `WITH hit AS (DELETE FROM trade_request WHERE tr_s_symb = $1 AND
			(tr_tt_id = 'TSL' AND tr_bid_price >= $2 OR tr_tt_id = 'TLS' AND tr_bid_price <= $2 OR tr_tt_id = 'TLB' AND tr_bid_price >= $2) RETURNING tr_t_id),
		sent AS (UPDATE trade SET t_st_id = 'SBMT', t_dts = localtimestamp FROM hit WHERE t_id = tr_t_id),
		noted AS (INSERT INTO trade_history SELECT tr_t_id, localtimestamp, 'SBMT' FROM hit) SELECT tr_t_id FROM hit`, tx, tx)

	tlTrades = postgres.NewStatement("tl_trades", lookup+`WHERE t_id = ANY ($1::int[])`, tx)
	tlOwn    = postgres.NewStatement("tl_own", lookup+`WHERE t_ca_id = $1 AND t_dts BETWEEN $2 AND localtimestamp ORDER BY t_dts LIMIT 20`, i4, tx)
	tlOf     = postgres.NewStatement("tl_of", lookup+`WHERE t_s_symb = $1 AND t_dts BETWEEN $2 AND localtimestamp AND t_st_id = 'CMPT' ORDER BY t_dts LIMIT 20`, tx, tx)
	tlFirst  = postgres.NewStatement("tl_first", lookup+`WHERE t_ca_id = $1 AND t_dts >= $2 ORDER BY t_dts LIMIT 1`, i4, tx)
	tlSettle = postgres.NewStatement("tl_settle", `SELECT se_t_id, se_amt, se_cash_due_date, se_cash_type FROM settlement WHERE se_t_id = ANY ($1::int[])`, tx)
	tlCash   = postgres.NewStatement("tl_cash", `SELECT ct_t_id, ct_amt, ct_dts, ct_name FROM cash_transaction WHERE ct_t_id = ANY ($1::int[])`, tx)
	tlStates = postgres.NewStatement("tl_states", `SELECT th_t_id, th_dts, th_st_id FROM trade_history WHERE th_t_id = ANY ($1::int[]) ORDER BY th_t_id, th_dts`, tx)
	tlSteps  = postgres.NewStatement("tl_steps", `SELECT hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty FROM holding_history
		WHERE hh_h_t_id IN (SELECT hh_h_t_id FROM holding_history WHERE hh_t_id = $1) LIMIT 20`, i4)

	tsTrades = postgres.NewStatement("ts_trades", `SELECT t_id, t_dts, st_name, tt_name, t_s_symb, t_qty, t_exec_name, t_chrg, s_name FROM trade JOIN status_type ON st_id = t_st_id
		JOIN trade_type ON tt_id = t_tt_id JOIN security ON s_symb = t_s_symb WHERE t_ca_id = $1 ORDER BY t_dts DESC LIMIT 50`, i4)
	tsWho = postgres.NewStatement("ts_who", `SELECT c_l_name, c_f_name, b_name FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = $1`, i4)

	cpNumber   = postgres.NewStatement("cp_number", `SELECT * FROM customer WHERE c_id = $1`, i4)
	cpTax      = postgres.NewStatement("cp_tax", `SELECT * FROM customer WHERE c_tax_id = $1`, tx)
	cpAccounts = postgres.NewStatement("cp_accounts", `SELECT ca_id, ca_bal, coalesce(sum(hs_qty * lt_price), 0) FROM customer_account LEFT JOIN holding_summary ON hs_ca_id = ca_id
		LEFT JOIN last_trade ON lt_s_symb = hs_s_symb WHERE ca_c_id = $1 GROUP BY 1, 2 ORDER BY 3 LIMIT 10`, i4)
	cpHistory = postgres.NewStatement("cp_history", `SELECT t_id, t_s_symb, t_qty, st_name, th_dts FROM (SELECT t_id, t_s_symb, t_qty FROM trade WHERE t_ca_id = $1 ORDER BY t_dts DESC LIMIT 10) AS t
		JOIN trade_history ON th_t_id = t_id JOIN status_type ON st_id = th_st_id ORDER BY th_dts DESC LIMIT 30`, i4)

	mwList     = postgres.NewStatement("mw_list", worth+`FROM watch_item JOIN security ON s_symb = wi_s_symb `+prices+`WHERE wi_c_id = $1`, i4, tx)
	mwIndustry = postgres.NewStatement("mw_industry", worth+`FROM security `+prices+`WHERE s_in_id = $1`, i4, tx)
	mwAccount  = postgres.NewStatement("mw_account", worth+`FROM holding_summary JOIN security ON s_symb = hs_s_symb `+prices+`WHERE hs_ca_id = $1`, i4, tx)
)

const (
	lookup = `SELECT t_id, t_bid_price, t_exec_name, t_is_cash, tt_is_mrkt, t_trade_price FROM trade JOIN trade_type ON tt_id = t_tt_id `
	worth  = `SELECT coalesce(sum(s_num_out * dm_close), 0), coalesce(sum(s_num_out * lt_price), 0) `
	prices = `JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = $2 `
)

// statements are all of them.
func statements() []*postgres.Statement {
	return []*postgres.Statement{
		dialogue.Begin, dialogue.Commit, dialogue.Rollback,
		toAccount, toSymbol, toName, toHoldings, toLast, toRates, toAssets, toTrade, toHistory, toRequest,
		trTrade, trAccount, trSummary, trHoldings, trSell, trChange, trHold, trStep, trFirst, trSum, trNone, trDone, trHistory, trSettle, trPay, trCash, trBroker,
		mfPrice, mfHits, tlTrades, tlOwn, tlOf, tlFirst, tlSettle, tlCash, tlStates, tlSteps,
		tsTrades, tsWho, cpNumber, cpTax, cpAccounts, cpHistory, mwList, mwIndustry, mwAccount,
	}
}
