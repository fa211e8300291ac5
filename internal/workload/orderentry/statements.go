package orderentry

import "plimsoll/internal/workload/engine"

// The statements of the transactions, by their numbers. Each is prepared once in a session.
const (
	noDistrict = iota
	noWarehouse
	noCustomer
	noItem
	noStock
	noOrder
	noNew
	noLine
	pyWarehouse
	pyDistrict
	byName
	pyCustomer
	pyHistory
	osCustomer
	osOrder
	osLines
	dyTurn
	dyOldest
	dyOrder
	dyLines
	dyCustomer
	slDistrict
	slCount
)

const (
	i4 = engine.AsInt
	tx = engine.AsText
	dc = engine.AsDecimal
)

// change is an UPDATE that tells what the row is afterwards.
type change struct{ table, set, where, returning string }

// of is the change as a statement. MariaDB, which does not tell, is asked for the row as
// well: it was locked by the change.
func (c change) of(name string, parameters ...engine.Format) engine.Statement {
	update := "UPDATE " + c.table + " SET " + c.set + " WHERE " + c.where
	return engine.Statement{
		Name: name, SQL: update + " RETURNING " + c.returning, Parameters: parameters,
		MariaDB: []string{update, "SELECT " + c.returning + " FROM " + c.table + " WHERE " + c.where},
	}
}

// statements are all of them, by their numbers.
var statements = []engine.Statement{
	noDistrict:  change{"district", "d_next_o_id = d_next_o_id + 1", "d_w_id = $1 AND d_id = $2", "d_next_o_id - 1, d_tax"}.of("no_district", i4, i4),
	noWarehouse: {Name: "no_warehouse", SQL: "SELECT w_tax FROM warehouse WHERE w_id = $1", Parameters: list(i4)},
	noCustomer:  {Name: "no_customer", SQL: "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3", Parameters: list(i4, i4, i4)},
	noItem:      {Name: "no_item", SQL: "SELECT i_price, i_name, i_data FROM item WHERE i_id = $1", Parameters: list(i4)},
	noStock: change{
		"stock",
		`s_quantity = s_quantity - $4 + CASE WHEN s_quantity - $4 >= 10 THEN 0 ELSE 91 END, s_ytd = s_ytd + $4, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $5`,
		"s_w_id = $1 AND s_i_id = $2",
		`CASE CAST($3 AS int) WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05 WHEN 6 THEN s_dist_06
				WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END, s_quantity, s_data`,
	}.of("no_stock", i4, i4, i4, i4, i4),
	noOrder: {Name: "no_order", SQL: `INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
			VALUES ($1, $2, $3, $4, localtimestamp, NULL, $5, $6)`, Parameters: list(i4, i4, i4, i4, i4, i4)},
	noNew: {Name: "no_new", SQL: "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)", Parameters: list(i4, i4, i4)},
	noLine: {Name: "no_line", SQL: `INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, Parameters: list(i4, i4, i4, i4, i4, i4, i4, dc, tx)},

	pyWarehouse: change{"warehouse", "w_ytd = w_ytd + $2", "w_id = $1", "w_name, w_street_1, w_street_2, w_city, w_state, w_zip"}.of("py_warehouse", i4, dc),
	pyDistrict: change{
		"district", "d_ytd = d_ytd + $3", "d_w_id = $1 AND d_id = $2", "d_name, d_street_1, d_street_2, d_city, d_state, d_zip",
	}.of("py_district", i4, i4, dc),
	byName: {Name: "by_name", SQL: "SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first", Parameters: list(i4, i4, tx)},
	pyCustomer: change{
		"customer",
		`c_balance = c_balance - $4, c_ytd_payment = c_ytd_payment + $4, c_payment_cnt = c_payment_cnt + 1, c_data = CASE WHEN c_credit = 'BC'
				THEN substr(concat(concat_ws(' ', c_id, c_d_id, c_w_id, CAST($5 AS int), CAST($6 AS int), $4), c_data), 1, 500) ELSE c_data END`,
		"c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
		`c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance,
				CASE WHEN c_credit = 'BC' THEN substr(c_data, 1, 200) END`,
	}.of("py_customer", i4, i4, i4, dc, i4, i4),
	pyHistory: {Name: "py_history", SQL: `INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
			VALUES ($1, $2, $3, $4, $5, localtimestamp, $6, $7)`, Parameters: list(i4, i4, i4, i4, i4, dc, tx)},

	osCustomer: {Name: "os_customer", SQL: "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3", Parameters: list(i4, i4, i4)},
	osOrder: {Name: "os_order", SQL: `SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3
			ORDER BY o_id DESC LIMIT 1`, Parameters: list(i4, i4, i4)},
	osLines: {Name: "os_lines", SQL: `SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
			WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3`, Parameters: list(i4, i4, i4)},

	// Deliveries of a warehouse take turns: two of PostgreSQL that looked for the oldest
	// order at the same time would find the same one. MariaDB would let the second wait,
	// at the row that is locked here, before it has locked any other.
	dyTurn: {
		Name: "dy_turn", SQL: "SELECT pg_advisory_xact_lock(7630, $1)", Parameters: list(i4),
		MariaDB: []string{"SELECT no_o_id FROM new_order WHERE no_w_id = $1 ORDER BY no_d_id, no_o_id LIMIT 1 FOR UPDATE"},
	},
	dyOldest: {
		Name: "dy_oldest", SQL: `DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id =
				(SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1) RETURNING no_o_id`, Parameters: list(i4, i4),
		MariaDB: []string{"DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1 RETURNING no_o_id"},
	},
	dyOrder: change{"orders", "o_carrier_id = $4", "o_w_id = $1 AND o_d_id = $2 AND o_id = $3", "o_c_id"}.of("dy_order", i4, i4, i4, i4),
	dyLines: {
		Name: "dy_lines", SQL: `WITH delivered AS (UPDATE order_line SET ol_delivery_d = localtimestamp
				WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3 RETURNING ol_amount) SELECT sum(ol_amount) FROM delivered`, Parameters: list(i4, i4, i4),
		MariaDB: []string{
			"UPDATE order_line SET ol_delivery_d = localtimestamp WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
			"SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3",
		},
	},
	dyCustomer: {
		Name: "dy_customer", SQL: "UPDATE customer SET c_balance = c_balance + $4, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3",
		Parameters: list(i4, i4, i4, dc),
	},

	slDistrict: {Name: "sl_district", SQL: "SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2", Parameters: list(i4, i4)},
	slCount: {Name: "sl_count", SQL: `SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
			WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id < $3 AND ol_o_id >= $3 - 20 AND s_quantity < $4`, Parameters: list(i4, i4, i4, i4)},
}

func list(formats ...engine.Format) []engine.Format { return formats }
