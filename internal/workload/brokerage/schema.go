package brokerage

import (
	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
)

// database is the one that is worked on.
const database = "plimsoll_brokerage"

// schema is the SQL of the tables of the specification that the transactions need, and of
// their keys.
func schema(protocol string) (tables string, keys []string) {
	all := []dataset.Table{
		{Name: "status_type", Columns: "st_id char(4) NOT NULL, st_name varchar(10)", Key: "st_id"},
		{Name: "trade_type", Columns: "tt_id char(3) NOT NULL, tt_name varchar(12), tt_is_sell boolean, tt_is_mrkt boolean", Key: "tt_id"},
		{Name: "charge", Columns: "ch_tt_id char(3) NOT NULL, ch_c_tier int NOT NULL, ch_chrg numeric(10,2)", Key: "ch_tt_id, ch_c_tier"},
		{Name: "commission_rate", Columns: "cr_c_tier int NOT NULL, cr_tt_id char(3) NOT NULL, cr_from_qty int NOT NULL, cr_to_qty int, cr_rate numeric(5,2)", Key: "cr_c_tier, cr_tt_id, cr_from_qty"},
		{Name: "broker", Columns: "b_id int NOT NULL, b_name varchar(49), b_num_trades int, b_comm_total numeric(12,2)", Key: "b_id", Room: 50},
		{
			Name: "customer", Columns: "c_id int NOT NULL, c_tax_id varchar(20), c_l_name varchar(25), c_f_name varchar(20), c_tier int, c_tax_rate numeric(5,2), c_area varchar(12), c_email varchar(50)",
			Key: "c_id", Indexes: []dataset.Index{{Name: "customer_tax", Columns: "c_tax_id", Unique: true}},
		},
		{
			Name: "customer_account", Columns: "ca_id int NOT NULL, ca_b_id int, ca_c_id int, ca_name varchar(50), ca_tax_st int, ca_opening numeric(14,2), ca_bal numeric(14,2)",
			Key: "ca_id", Room: 10, Indexes: []dataset.Index{{Name: "customer_account_customer", Columns: "ca_c_id"}},
		},
		{
			Name: "security", Columns: "s_symb varchar(15) NOT NULL, s_issue char(6), s_name varchar(70), s_in_id int, s_num_out bigint",
			Key: "s_symb", Indexes: []dataset.Index{{Name: "security_name", Columns: "s_name"}, {Name: "security_industry", Columns: "s_in_id"}},
		},
		{Name: "last_trade", Columns: "lt_s_symb varchar(15) NOT NULL, lt_dts timestamp, lt_price numeric(8,2), lt_open_price numeric(8,2), lt_vol bigint", Key: "lt_s_symb", Room: 50},
		{Name: "daily_market", Columns: "dm_date date NOT NULL, dm_s_symb varchar(15) NOT NULL, dm_close numeric(8,2), dm_high numeric(8,2), dm_low numeric(8,2), dm_vol bigint", Key: "dm_s_symb, dm_date"},
		{Name: "watch_item", Columns: "wi_c_id int NOT NULL, wi_s_symb varchar(15) NOT NULL", Key: "wi_c_id, wi_s_symb"},
		{
			Name: "trade", Columns: "t_id int NOT NULL " + counter(protocol) + `, t_dts timestamp, t_st_id char(4), t_tt_id char(3), t_is_cash boolean, t_s_symb varchar(15), t_qty int, t_bid_price numeric(8,2),
				t_ca_id int, t_exec_name varchar(49), t_trade_price numeric(8,2), t_chrg numeric(10,2), t_comm numeric(10,2), t_tax numeric(10,2), t_lifo boolean`,
			Key: "t_id", Room: 10, Indexes: []dataset.Index{{Name: "trade_account", Columns: "t_ca_id, t_dts"}, {Name: "trade_security", Columns: "t_s_symb, t_dts"}},
		},
		{Name: "trade_history", Columns: "th_t_id int NOT NULL, th_dts timestamp, th_st_id char(4) NOT NULL", Key: "th_t_id, th_st_id"},
		{
			Name: "trade_request", Columns: "tr_t_id int NOT NULL, tr_tt_id char(3), tr_s_symb varchar(15), tr_qty int, tr_bid_price numeric(8,2), tr_b_id int",
			Key: "tr_t_id", Indexes: []dataset.Index{{Name: "trade_request_security", Columns: "tr_s_symb, tr_tt_id, tr_bid_price"}},
		},
		{Name: "settlement", Columns: "se_t_id int NOT NULL, se_cash_type varchar(40), se_cash_due_date date, se_amt numeric(10,2)", Key: "se_t_id"},
		{Name: "cash_transaction", Columns: "ct_t_id int NOT NULL, ct_dts timestamp, ct_amt numeric(10,2), ct_name varchar(100)", Key: "ct_t_id"},
		{Name: "holding_summary", Columns: "hs_ca_id int NOT NULL, hs_s_symb varchar(15) NOT NULL, hs_qty int", Key: "hs_ca_id, hs_s_symb", Room: 10},
		{
			Name: "holding", Columns: "h_t_id int NOT NULL, h_ca_id int, h_s_symb varchar(15), h_dts timestamp, h_price numeric(8,2), h_qty int",
			Key: "h_t_id", Room: 10, Indexes: []dataset.Index{{Name: "holding_account", Columns: "h_ca_id, h_s_symb, h_dts"}},
		},
		{
			// The trade comes first in the key: MariaDB keeps rows in its order, and so takes them
			// as they come. By the lot they would go to all pages of a table that is no longer in
			// memory.
			Name: "holding_history", Columns: "hh_h_t_id int NOT NULL, hh_t_id int NOT NULL, hh_before_qty int, hh_after_qty int",
			Key: "hh_t_id, hh_h_t_id", Indexes: []dataset.Index{{Name: "holding_history_lot", Columns: "hh_h_t_id"}},
		},
	}
	tables, keys = dataset.Schema(protocol, all)
	if protocol == engine.PostgreSQL {
		tables = "CREATE SEQUENCE trade_id;\n" + tables
	}
	return tables, keys
}

// counter is the sequence of new trades.
func counter(protocol string) string {
	if protocol == engine.MariaDB {
		return "AUTO_INCREMENT"
	}
	return "DEFAULT nextval('trade_id')"
}

// Size of a trade, and of a security with its closing prices, indexes included.
const (
	bytesPerTrade    = 800
	bytesPerSecurity = 150_000
)
