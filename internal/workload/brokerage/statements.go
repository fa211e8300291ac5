package brokerage

import (
	"strconv"
	"strings"

	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
)

const (
	i4 = engine.AsInt
	i8 = engine.AsLong
	nu = engine.AsDecimal
	tx = engine.AsText
)

// The numbers of the statements. Each is prepared once in a session.
const (
	toAccount = iota
	toSymbol
	toName
	toHoldings
	toLast
	toRates
	toAssets
	toTrade
	toHistory
	toRequest
	trTrade
	trAccount
	trSummary
	trHoldings
	trSell
	trChange
	trHold
	trStep
	trFirst
	trSum
	trNone
	trDone
	trHistory
	trSettle
	trPay
	trCash
	trBroker
	mfPrice
	mfHits
	tlTrades
	tlOwn
	tlOf
	tlFirst
	tlSettle
	tlCash
	tlStates
	tlSteps
	tsTrades
	tsWho
	cpNumber
	cpTax
	cpAccounts
	cpHistory
	mwList
	mwIndustry
	mwAccount
	statements
)

type (
	formats = []engine.Format
	maria   = []string
)

var list = [statements]engine.Statement{
	toAccount: {Name: "to_account", Parameters: formats{i4}, SQL: `SELECT ca_name, ca_b_id, ca_tax_st, c_id, c_tier, c_tax_rate, c_l_name, b_name
		FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = $1`},
	toSymbol:   {Name: "to_symbol", Parameters: formats{tx}, SQL: `SELECT s_symb, s_name, lt_price FROM security JOIN last_trade ON lt_s_symb = s_symb WHERE s_symb = $1`},
	toName:     {Name: "to_name", Parameters: formats{tx}, SQL: `SELECT s_symb, s_name, lt_price FROM security JOIN last_trade ON lt_s_symb = s_symb WHERE s_name = $1`},
	toHoldings: {Name: "to_holdings", Parameters: formats{i4, tx}, SQL: `SELECT h_t_id, h_price, h_qty FROM holding WHERE h_ca_id = $1 AND h_s_symb = $2 ORDER BY h_dts, h_t_id LIMIT 8`},
	toLast:     {Name: "to_last", Parameters: formats{i4, tx}, SQL: `SELECT h_t_id, h_price, h_qty FROM holding WHERE h_ca_id = $1 AND h_s_symb = $2 ORDER BY h_dts DESC, h_t_id DESC LIMIT 8`},
	toRates: {Name: "to_rates", Parameters: formats{i4, tx, i4}, SQL: `SELECT ch_chrg, cr_rate FROM customer_account JOIN customer ON c_id = ca_c_id JOIN charge ON ch_c_tier = c_tier
		JOIN commission_rate ON cr_c_tier = c_tier AND cr_tt_id = ch_tt_id WHERE ca_id = $1 AND ch_tt_id = $2 AND $3 BETWEEN cr_from_qty AND cr_to_qty`},
	toAssets: {Name: "to_assets", Parameters: formats{i4}, SQL: `SELECT ca_bal + coalesce((SELECT sum(hs_qty * lt_price) FROM holding_summary JOIN last_trade ON lt_s_symb = hs_s_symb
		WHERE hs_ca_id = ca_id), 0) FROM customer_account WHERE ca_id = $1`},
	toTrade: {Name: "to_trade", Parameters: formats{tx, tx, tx, tx, i4, nu, i4, tx, nu, nu, tx}, SQL: `INSERT INTO trade
		(t_dts, t_st_id, t_tt_id, t_is_cash, t_s_symb, t_qty, t_bid_price, t_ca_id, t_exec_name, t_trade_price, t_chrg, t_comm, t_tax, t_lifo)
		VALUES (localtimestamp(6), $1, $2, $3, $4, $5, $6, $7, $8, NULL, $9, $10, 0, $11) RETURNING t_id`},
	toHistory: {
		Name: "to_history", Parameters: formats{tx}, SQL: `INSERT INTO trade_history VALUES (currval('trade_id')::int, localtimestamp(6), $1)`,
		MariaDB: maria{`INSERT INTO trade_history VALUES (last_insert_id(), localtimestamp(6), $1)`},
	},
	toRequest: {
		Name: "to_request", Parameters: formats{tx, tx, i4, nu, i4}, SQL: `INSERT INTO trade_request VALUES (currval('trade_id')::int, $1, $2, $3, $4, $5)`,
		MariaDB: maria{`INSERT INTO trade_request VALUES (last_insert_id(), $1, $2, $3, $4, $5)`},
	},

	// Results of one account take turns, by a lock of its row. MariaDB, which would lock the
	// rows of all tables of a query, is asked for it first of all: what is read afterwards is
	// then the work of those who had their turn before.
	trTrade: {
		Name: "tr_trade", Parameters: formats{i4}, SQL: submitted,
		MariaDB: maria{`SELECT ca_id INTO @account FROM trade JOIN customer_account ON ca_id = t_ca_id WHERE t_id = $1 FOR UPDATE`, submitted},
	},
	trAccount: {
		Name: "tr_account", Parameters: formats{i4}, SQL: account + ` FOR UPDATE OF customer_account`,
		MariaDB: maria{account},
	},
	trSummary: {Name: "tr_summary", Parameters: formats{i4}, SQL: `SELECT hs_qty FROM trade JOIN holding_summary ON hs_ca_id = t_ca_id AND hs_s_symb = t_s_symb WHERE t_id = $1`},
	trHoldings: {Name: "tr_holdings", Parameters: formats{i4}, SQL: `SELECT h_t_id, h_price, h_qty FROM trade JOIN holding ON h_ca_id = t_ca_id AND h_s_symb = t_s_symb WHERE t_id = $1
		ORDER BY CASE WHEN t_lifo THEN h_dts END DESC, CASE WHEN t_lifo THEN h_t_id END DESC, h_dts, h_t_id LIMIT 8`},
	trSell:    {Name: "tr_sell", Parameters: formats{i4}, SQL: `DELETE FROM holding WHERE h_t_id = $1`},
	trChange:  {Name: "tr_change", Parameters: formats{i4, i4}, SQL: `UPDATE holding SET h_qty = $2 WHERE h_t_id = $1`},
	trHold:    {Name: "tr_hold", Parameters: formats{i4, i4, tx, nu, i4}, SQL: `INSERT INTO holding VALUES ($1, $2, $3, localtimestamp(6), $4, $5)`},
	trStep:    {Name: "tr_step", Parameters: formats{i4, i4, i4, i4}, SQL: `INSERT INTO holding_history VALUES ($1, $2, $3, $4)`},
	trFirst:   {Name: "tr_first", Parameters: formats{i4, tx, i4}, SQL: `INSERT INTO holding_summary VALUES ($1, $2, $3)`},
	trSum:     {Name: "tr_sum", Parameters: formats{i4, tx, i4}, SQL: `UPDATE holding_summary SET hs_qty = $3 WHERE hs_ca_id = $1 AND hs_s_symb = $2`},
	trNone:    {Name: "tr_none", Parameters: formats{i4, tx}, SQL: `DELETE FROM holding_summary WHERE hs_ca_id = $1 AND hs_s_symb = $2`},
	trDone:    {Name: "tr_done", Parameters: formats{i4, nu, nu, nu}, SQL: `UPDATE trade SET t_st_id = 'CMPT', t_dts = localtimestamp(6), t_trade_price = $2, t_comm = $3, t_tax = $4 WHERE t_id = $1`},
	trHistory: {Name: "tr_history", Parameters: formats{i4}, SQL: `INSERT INTO trade_history VALUES ($1, localtimestamp(6), 'CMPT')`},
	trSettle:  {Name: "tr_settle", Parameters: formats{i4, tx, nu}, SQL: `INSERT INTO settlement VALUES ($1, $2, current_date + INTERVAL '2' DAY, $3)`},
	trPay: {
		Name: "tr_pay", Parameters: formats{i4, nu}, SQL: pay + ` RETURNING ca_bal`,
		MariaDB: maria{pay, `SELECT ca_bal FROM customer_account WHERE ca_id = $1`},
	},
	trCash:   {Name: "tr_cash", Parameters: formats{i4, nu, tx}, SQL: `INSERT INTO cash_transaction VALUES ($1, localtimestamp(6), $2, $3)`},
	trBroker: {Name: "tr_broker", Parameters: formats{i4, nu}, SQL: `UPDATE broker SET b_num_trades = b_num_trades + 1, b_comm_total = b_comm_total + $2 WHERE b_id = $1`},

	mfPrice: {Name: "mf_price", Parameters: formats{tx, nu, i8}, SQL: `UPDATE last_trade SET lt_price = $2, lt_vol = lt_vol + $3, lt_dts = localtimestamp(6) WHERE lt_s_symb = $1`},
	// An order that comes in between the statements for MariaDB is pending, and so it stays.
	mfHits: {
		Name: "mf_hits", Parameters: formats{tx, nu}, SQL: `WITH hit AS (DELETE FROM trade_request WHERE ` + reached + ` RETURNING tr_t_id),
		sent AS (UPDATE trade SET t_st_id = 'SBMT', t_dts = localtimestamp(6) FROM hit WHERE t_id = tr_t_id),
		noted AS (INSERT INTO trade_history SELECT tr_t_id, localtimestamp(6), 'SBMT' FROM hit) SELECT tr_t_id FROM hit`,
		MariaDB: maria{
			`UPDATE trade_request JOIN trade ON t_id = tr_t_id SET t_st_id = 'SBMT', t_dts = localtimestamp(6) WHERE ` + reached,
			`INSERT INTO trade_history SELECT tr_t_id, localtimestamp(6), 'SBMT' FROM trade_request JOIN trade ON t_id = tr_t_id WHERE t_st_id = 'SBMT' AND ` + reached,
			`DELETE FROM trade_request WHERE EXISTS (SELECT 1 FROM trade WHERE t_id = tr_t_id AND t_st_id = 'SBMT') AND ` + reached + ` RETURNING tr_t_id`,
		},
	},

	tlTrades: {Name: "tl_trades", Parameters: trades, SQL: lookup + `WHERE t_id ` + among},
	tlOwn:    {Name: "tl_own", Parameters: formats{i4, tx}, SQL: lookup + `WHERE t_ca_id = $1 AND t_dts BETWEEN $2 AND localtimestamp(6) ORDER BY t_dts LIMIT 20`},
	tlOf:     {Name: "tl_of", Parameters: formats{tx, tx}, SQL: lookup + `WHERE t_s_symb = $1 AND t_dts BETWEEN $2 AND localtimestamp(6) AND t_st_id = 'CMPT' ORDER BY t_dts LIMIT 20`},
	tlFirst:  {Name: "tl_first", Parameters: formats{i4, tx}, SQL: lookup + `WHERE t_ca_id = $1 AND t_dts >= $2 ORDER BY t_dts LIMIT 1`},
	tlSettle: {Name: "tl_settle", Parameters: trades, SQL: `SELECT se_t_id, se_amt, se_cash_due_date, se_cash_type FROM settlement WHERE se_t_id ` + among},
	tlCash:   {Name: "tl_cash", Parameters: trades, SQL: `SELECT ct_t_id, ct_amt, ct_dts, ct_name FROM cash_transaction WHERE ct_t_id ` + among},
	tlStates: {Name: "tl_states", Parameters: trades, SQL: `SELECT th_t_id, th_dts, th_st_id FROM trade_history WHERE th_t_id ` + among + ` ORDER BY th_t_id, th_dts`},
	tlSteps: {Name: "tl_steps", Parameters: formats{i4}, SQL: `SELECT hh_h_t_id, hh_t_id, hh_before_qty, hh_after_qty FROM holding_history
		WHERE hh_h_t_id IN (SELECT hh_h_t_id FROM holding_history WHERE hh_t_id = $1) LIMIT 20`},

	tsTrades: {Name: "ts_trades", Parameters: formats{i4}, SQL: `SELECT t_id, t_dts, st_name, tt_name, t_s_symb, t_qty, t_exec_name, t_chrg, s_name FROM trade JOIN status_type ON st_id = t_st_id
		JOIN trade_type ON tt_id = t_tt_id JOIN security ON s_symb = t_s_symb WHERE t_ca_id = $1 ORDER BY t_dts DESC LIMIT 50`},
	tsWho: {Name: "ts_who", Parameters: formats{i4}, SQL: `SELECT c_l_name, c_f_name, b_name FROM customer_account JOIN customer ON c_id = ca_c_id JOIN broker ON b_id = ca_b_id WHERE ca_id = $1`},

	cpNumber: {Name: "cp_number", Parameters: formats{i4}, SQL: `SELECT * FROM customer WHERE c_id = $1`},
	cpTax:    {Name: "cp_tax", Parameters: formats{tx}, SQL: `SELECT * FROM customer WHERE c_tax_id = $1`},
	cpAccounts: {Name: "cp_accounts", Parameters: formats{i4}, SQL: `SELECT ca_id, ca_bal, coalesce(sum(hs_qty * lt_price), 0) FROM customer_account LEFT JOIN holding_summary ON hs_ca_id = ca_id
		LEFT JOIN last_trade ON lt_s_symb = hs_s_symb WHERE ca_c_id = $1 GROUP BY 1, 2 ORDER BY 3 LIMIT 10`},
	cpHistory: {Name: "cp_history", Parameters: formats{i4}, SQL: `SELECT t_id, t_s_symb, t_qty, st_name, th_dts FROM (SELECT t_id, t_s_symb, t_qty FROM trade WHERE t_ca_id = $1 ORDER BY t_dts DESC LIMIT 10) AS t
		JOIN trade_history ON th_t_id = t_id JOIN status_type ON st_id = th_st_id ORDER BY th_dts DESC LIMIT 30`},

	mwList:     {Name: "mw_list", Parameters: formats{i4, tx}, SQL: worth + `FROM watch_item JOIN security ON s_symb = wi_s_symb ` + prices + `WHERE wi_c_id = $1`},
	mwIndustry: {Name: "mw_industry", Parameters: formats{i4, tx}, SQL: worth + `FROM security ` + prices + `WHERE s_in_id = $1`},
	mwAccount:  {Name: "mw_account", Parameters: formats{i4, tx}, SQL: worth + `FROM holding_summary JOIN security ON s_symb = hs_s_symb ` + prices + `WHERE hs_ca_id = $1`},
}

const (
	submitted = `SELECT t_ca_id, t_tt_id, t_s_symb, t_qty, t_chrg, t_lifo, t_is_cash, s_name FROM trade JOIN security ON s_symb = t_s_symb
		WHERE t_id = $1 AND t_st_id = 'SBMT'`
	account = `SELECT ca_b_id, ca_tax_st, c_tax_rate, cr_rate FROM trade JOIN customer_account ON ca_id = t_ca_id JOIN customer ON c_id = ca_c_id
		JOIN commission_rate ON cr_c_tier = c_tier AND cr_tt_id = t_tt_id AND t_qty BETWEEN cr_from_qty AND cr_to_qty WHERE t_id = $1`
	pay     = `UPDATE customer_account SET ca_bal = ca_bal + $2 WHERE ca_id = $1`
	reached = `tr_s_symb = $1 AND (tr_tt_id = 'TSL' AND tr_bid_price >= $2 OR tr_tt_id = 'TLS' AND tr_bid_price <= $2 OR tr_tt_id = 'TLB' AND tr_bid_price >= $2)`
	lookup  = `SELECT t_id, t_bid_price, t_exec_name, t_is_cash, tt_is_mrkt, t_trade_price FROM trade JOIN trade_type ON tt_id = t_tt_id `
	worth   = `SELECT coalesce(sum(s_num_out * dm_close), 0), coalesce(sum(s_num_out * lt_price), 0) `
	prices  = `JOIN last_trade ON lt_s_symb = s_symb JOIN daily_market ON dm_s_symb = s_symb AND dm_date = $2 `
)

// among is one of the trades of a lookup, of which there may be fewer that are different.
var among, trades = func() (string, formats) {
	marks := make([]string, mostTrades)
	for i := range marks {
		marks[i] = "$" + strconv.Itoa(i+1)
	}
	return "IN (" + strings.Join(marks, ", ") + ")", make(formats, mostTrades) // all of them AsInt
}()

// statementBook is all of them, for servers of a protocol.
func statementBook(protocol string) *dialogue.Statements { return dialogue.NewBook(protocol, list[:]) }
