package brokerage

// database is the one that is worked on.
const database = "plimsoll_brokerage"

// tables are those of the specification that the transactions need, without keys, so that
// they can be filled fast.
const tables = `
CREATE SEQUENCE trade_id;
CREATE TABLE status_type (st_id char(4) NOT NULL, st_name varchar(10));
CREATE TABLE trade_type (tt_id char(3) NOT NULL, tt_name varchar(12), tt_is_sell boolean, tt_is_mrkt boolean);
CREATE TABLE charge (ch_tt_id char(3) NOT NULL, ch_c_tier int NOT NULL, ch_chrg numeric(10,2));
CREATE TABLE commission_rate (cr_c_tier int NOT NULL, cr_tt_id char(3) NOT NULL, cr_from_qty int NOT NULL, cr_to_qty int, cr_rate numeric(5,2));
CREATE TABLE broker (b_id int NOT NULL, b_name varchar(49), b_num_trades int, b_comm_total numeric(12,2)) WITH (fillfactor = 50);
CREATE TABLE customer (c_id int NOT NULL, c_tax_id varchar(20), c_l_name varchar(25), c_f_name varchar(20), c_tier int, c_tax_rate numeric(5,2), c_area varchar(12), c_email varchar(50));
CREATE TABLE customer_account (ca_id int NOT NULL, ca_b_id int, ca_c_id int, ca_name varchar(50), ca_tax_st int, ca_opening numeric(14,2), ca_bal numeric(14,2)) WITH (fillfactor = 90);
CREATE TABLE security (s_symb varchar(15) NOT NULL, s_issue char(6), s_name varchar(70), s_in_id int, s_num_out bigint);
CREATE TABLE last_trade (lt_s_symb varchar(15) NOT NULL, lt_dts timestamp, lt_price numeric(8,2), lt_open_price numeric(8,2), lt_vol bigint) WITH (fillfactor = 50);
CREATE TABLE daily_market (dm_date date NOT NULL, dm_s_symb varchar(15) NOT NULL, dm_close numeric(8,2), dm_high numeric(8,2), dm_low numeric(8,2), dm_vol bigint);
CREATE TABLE watch_item (wi_c_id int NOT NULL, wi_s_symb varchar(15) NOT NULL);
CREATE TABLE trade (t_id int NOT NULL, t_dts timestamp, t_st_id char(4), t_tt_id char(3), t_is_cash boolean, t_s_symb varchar(15), t_qty int, t_bid_price numeric(8,2),
  t_ca_id int, t_exec_name varchar(49), t_trade_price numeric(8,2), t_chrg numeric(10,2), t_comm numeric(10,2), t_tax numeric(10,2), t_lifo boolean) WITH (fillfactor = 90);
CREATE TABLE trade_history (th_t_id int NOT NULL, th_dts timestamp, th_st_id char(4) NOT NULL);
CREATE TABLE trade_request (tr_t_id int NOT NULL, tr_tt_id char(3), tr_s_symb varchar(15), tr_qty int, tr_bid_price numeric(8,2), tr_b_id int);
CREATE TABLE settlement (se_t_id int NOT NULL, se_cash_type varchar(40), se_cash_due_date date, se_amt numeric(10,2));
CREATE TABLE cash_transaction (ct_t_id int NOT NULL, ct_dts timestamp, ct_amt numeric(10,2), ct_name varchar(100));
CREATE TABLE holding_summary (hs_ca_id int NOT NULL, hs_s_symb varchar(15) NOT NULL, hs_qty int) WITH (fillfactor = 90);
CREATE TABLE holding (h_t_id int NOT NULL, h_ca_id int, h_s_symb varchar(15), h_dts timestamp, h_price numeric(8,2), h_qty int) WITH (fillfactor = 90);
CREATE TABLE holding_history (hh_h_t_id int NOT NULL, hh_t_id int NOT NULL, hh_before_qty int, hh_after_qty int);
`

// keys are made when the tables are filled, each by itself.
var keys = []string{
	"ALTER TABLE status_type ADD PRIMARY KEY (st_id)",
	"ALTER TABLE trade_type ADD PRIMARY KEY (tt_id)",
	"ALTER TABLE charge ADD PRIMARY KEY (ch_tt_id, ch_c_tier)",
	"ALTER TABLE commission_rate ADD PRIMARY KEY (cr_c_tier, cr_tt_id, cr_from_qty)",
	"ALTER TABLE broker ADD PRIMARY KEY (b_id)",
	"ALTER TABLE customer ADD PRIMARY KEY (c_id)",
	"CREATE UNIQUE INDEX customer_tax ON customer (c_tax_id)",
	"ALTER TABLE customer_account ADD PRIMARY KEY (ca_id)",
	"CREATE INDEX customer_account_customer ON customer_account (ca_c_id)",
	"ALTER TABLE security ADD PRIMARY KEY (s_symb)",
	"CREATE INDEX security_name ON security (s_name)",
	"CREATE INDEX security_industry ON security (s_in_id)",
	"ALTER TABLE last_trade ADD PRIMARY KEY (lt_s_symb)",
	"ALTER TABLE daily_market ADD PRIMARY KEY (dm_s_symb, dm_date)",
	"ALTER TABLE watch_item ADD PRIMARY KEY (wi_c_id, wi_s_symb)",
	"ALTER TABLE trade ADD PRIMARY KEY (t_id)",
	"CREATE INDEX trade_account ON trade (t_ca_id, t_dts)",
	"CREATE INDEX trade_security ON trade (t_s_symb, t_dts)",
	"ALTER TABLE trade_history ADD PRIMARY KEY (th_t_id, th_st_id)",
	"ALTER TABLE trade_request ADD PRIMARY KEY (tr_t_id)",
	"CREATE INDEX trade_request_security ON trade_request (tr_s_symb, tr_tt_id, tr_bid_price)",
	"ALTER TABLE settlement ADD PRIMARY KEY (se_t_id)",
	"ALTER TABLE cash_transaction ADD PRIMARY KEY (ct_t_id)",
	"ALTER TABLE holding_summary ADD PRIMARY KEY (hs_ca_id, hs_s_symb)",
	"ALTER TABLE holding ADD PRIMARY KEY (h_t_id)",
	"CREATE INDEX holding_account ON holding (h_ca_id, h_s_symb, h_dts)",
	"ALTER TABLE holding_history ADD PRIMARY KEY (hh_h_t_id, hh_t_id)",
	"CREATE INDEX holding_history_trade ON holding_history (hh_t_id)",
}

// What a trade, and a security with its closing prices, take, indexes included.
const (
	bytesPerTrade    = 800
	bytesPerSecurity = 150_000
)
