package orderentry

import "plimsoll/internal/workload/engine/dataset"

// size is how much data there is.
type size struct {
	warehouses int
	items      int
	customers  int // of a district, each with one order at the beginning
}

// Of each warehouse.
const districts = 10

// undelivered is how many of the first orders of a district are not delivered yet.
func (z size) undelivered() int { return z.customers * 3 / 10 }

// table is one of clause 1.3, or of our own, which is filled in pieces that do not depend on each other.
type table struct {
	dataset.Table
	stream uint64 // of its random numbers
	// rows are the rows of a piece, one call each: it appends row number i, and
	// answers false beyond the last. They come in the order of the key.
	rows func(z size, s *source, warehouse int) (row func(b []byte, i int) ([]byte, bool))
	once bool // one piece for all warehouses
}

var tables = []table{
	{Table: dataset.Table{
		Name: "item", Key: "i_id",
		Columns: "i_id int NOT NULL, i_im_id int, i_name varchar(24), i_price numeric(5,2), i_data varchar(50)",
	}, stream: 1, rows: itemRows, once: true},
	{Table: dataset.Table{
		Name: "warehouse", Key: "w_id", Room: 50,
		Columns: `w_id int NOT NULL, w_name varchar(10), w_street_1 varchar(20), w_street_2 varchar(20), w_city varchar(20), w_state char(2), w_zip char(9),
			w_tax numeric(4,4), w_ytd numeric(12,2)`,
	}, stream: 2, rows: warehouseRows, once: true},
	{Table: dataset.Table{
		Name: "district", Key: "d_w_id, d_id", Room: 50,
		Columns: `d_id int NOT NULL, d_w_id int NOT NULL, d_name varchar(10), d_street_1 varchar(20), d_street_2 varchar(20), d_city varchar(20), d_state char(2), d_zip char(9),
			d_tax numeric(4,4), d_ytd numeric(12,2), d_next_o_id int`,
	}, stream: 3, rows: districtRows, once: true},
	{Table: dataset.Table{
		Name: "stock", Key: "s_w_id, s_i_id", Room: 10,
		Columns: `s_i_id int NOT NULL, s_w_id int NOT NULL, s_quantity int, s_dist_01 char(24), s_dist_02 char(24), s_dist_03 char(24), s_dist_04 char(24), s_dist_05 char(24),
			s_dist_06 char(24), s_dist_07 char(24), s_dist_08 char(24), s_dist_09 char(24), s_dist_10 char(24), s_ytd int, s_order_cnt int, s_remote_cnt int, s_data varchar(50)`,
	}, stream: 4, rows: stockRows},
	// The first quantities of the stock, which verification needs: the load does not touch it.
	{Table: dataset.Table{
		Name: "first_stock", Key: "f_w_id, f_i_id",
		Columns: "f_i_id int NOT NULL, f_w_id int NOT NULL, f_quantity int",
	}, stream: 4, rows: firstStockRows}, // of the same numbers
	{Table: dataset.Table{
		Name: "customer", Key: "c_w_id, c_d_id, c_id", Room: 10,
		Columns: `c_id int NOT NULL, c_d_id int NOT NULL, c_w_id int NOT NULL, c_first varchar(16), c_middle char(2), c_last varchar(16), c_street_1 varchar(20), c_street_2 varchar(20),
			c_city varchar(20), c_state char(2), c_zip char(9), c_phone char(16), c_since timestamp, c_credit char(2), c_credit_lim numeric(12,2), c_discount numeric(4,4),
			c_balance numeric(12,2), c_ytd_payment numeric(12,2), c_payment_cnt int, c_delivery_cnt int, c_data varchar(500)`,
		Indexes: []dataset.Index{{Name: "customer_name", Columns: "c_w_id, c_d_id, c_last, c_first"}},
	}, stream: 5, rows: customerRows},
	{Table: dataset.Table{
		Name:    "history",
		Columns: "h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int, h_date timestamp, h_amount numeric(6,2), h_data varchar(24)",
	}, stream: 6, rows: historyRows},
	{Table: dataset.Table{
		Name: "orders", Key: "o_w_id, o_d_id, o_id",
		Columns: "o_id int NOT NULL, o_d_id int NOT NULL, o_w_id int NOT NULL, o_c_id int, o_entry_d timestamp, o_carrier_id int, o_ol_cnt int, o_all_local int",
		Indexes: []dataset.Index{{Name: "orders_customer", Columns: "o_w_id, o_d_id, o_c_id, o_id"}},
	}, stream: 7, rows: orderRows},
	{Table: dataset.Table{
		Name: "new_order", Key: "no_w_id, no_d_id, no_o_id",
		Columns: "no_o_id int NOT NULL, no_d_id int NOT NULL, no_w_id int NOT NULL",
	}, stream: 8, rows: newOrderRows},
	{Table: dataset.Table{
		Name: "order_line", Key: "ol_w_id, ol_d_id, ol_o_id, ol_number",
		Columns: `ol_o_id int NOT NULL, ol_d_id int NOT NULL, ol_w_id int NOT NULL, ol_number int NOT NULL, ol_i_id int, ol_supply_w_id int, ol_delivery_d timestamp, ol_quantity int,
			ol_amount numeric(6,2), ol_dist_info char(24)`,
	}, stream: 7, rows: lineRows}, // of the same orders
}

// bytesPerWarehouse is about what a warehouse of full size takes on MariaDB, indexes
// included; on PostgreSQL it is 115 MiB.
const bytesPerWarehouse = 145 << 20
