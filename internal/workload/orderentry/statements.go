package orderentry

import "plimsoll/internal/postgres"

// The statements of the transactions. Each is prepared once in a session.
var (
	beginTransaction    = postgres.NewStatement("begin", "BEGIN")
	commitTransaction   = postgres.NewStatement("commit", "COMMIT")
	rollbackTransaction = postgres.NewStatement("rollback", "ROLLBACK")

	noDistrict = postgres.NewStatement("no_district", `UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = $1 AND d_id = $2
		RETURNING d_next_o_id - 1, d_tax`, i4, i4)
	noWarehouse = postgres.NewStatement("no_warehouse", `SELECT w_tax FROM warehouse WHERE w_id = $1`, i4)
	noCustomer  = postgres.NewStatement("no_customer", `SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3`, i4, i4, i4)
	noItem      = postgres.NewStatement("no_item", `SELECT i_price, i_name, i_data FROM item WHERE i_id = $1`, i4)
	noStock     = postgres.NewStatement("no_stock", `UPDATE stock SET s_quantity = s_quantity - $4 + CASE WHEN s_quantity - $4 >= 10 THEN 0 ELSE 91 END,
		s_ytd = s_ytd + $4, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + $5 WHERE s_w_id = $1 AND s_i_id = $2
		RETURNING CASE $3::int WHEN 1 THEN s_dist_01 WHEN 2 THEN s_dist_02 WHEN 3 THEN s_dist_03 WHEN 4 THEN s_dist_04 WHEN 5 THEN s_dist_05
		WHEN 6 THEN s_dist_06 WHEN 7 THEN s_dist_07 WHEN 8 THEN s_dist_08 WHEN 9 THEN s_dist_09 ELSE s_dist_10 END, s_quantity, s_data`, i4, i4, i4, i4, i4)
	noOrder = postgres.NewStatement("no_order", `INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local)
		VALUES ($1, $2, $3, $4, localtimestamp, NULL, $5, $6)`, i4, i4, i4, i4, i4, i4)
	noNew  = postgres.NewStatement("no_new", `INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES ($1, $2, $3)`, i4, i4, i4)
	noLine = postgres.NewStatement("no_line", `INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8::numeric, $9)`, i4, i4, i4, i4, i4, i4, i4, tx, tx)

	pyWarehouse = postgres.NewStatement("py_warehouse", `UPDATE warehouse SET w_ytd = w_ytd + $2::numeric WHERE w_id = $1
		RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip`, i4, tx)
	pyDistrict = postgres.NewStatement("py_district", `UPDATE district SET d_ytd = d_ytd + $3::numeric WHERE d_w_id = $1 AND d_id = $2
		RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip`, i4, i4, tx)
	byName     = postgres.NewStatement("by_name", `SELECT c_id FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_last = $3 ORDER BY c_first`, i4, i4, tx)
	pyCustomer = postgres.NewStatement("py_customer", `UPDATE customer SET c_balance = c_balance - $4::numeric, c_ytd_payment = c_ytd_payment + $4::numeric,
		c_payment_cnt = c_payment_cnt + 1, c_data = CASE WHEN c_credit = 'BC' THEN
		substr(concat_ws(' ', c_id, c_d_id, c_w_id, $5::int, $6::int, $4::numeric) || c_data, 1, 500) ELSE c_data END
		WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3
		RETURNING c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance,
		CASE WHEN c_credit = 'BC' THEN substr(c_data, 1, 200) END`, i4, i4, i4, tx, i4, i4)
	pyHistory = postgres.NewStatement("py_history", `INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
		VALUES ($1, $2, $3, $4, $5, localtimestamp, $6::numeric, $7)`, i4, i4, i4, i4, i4, tx, tx)

	osCustomer = postgres.NewStatement("os_customer", `SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3`, i4, i4, i4)
	osOrder    = postgres.NewStatement("os_order", `SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = $1 AND o_d_id = $2 AND o_c_id = $3
		ORDER BY o_id DESC LIMIT 1`, i4, i4, i4)
	osLines = postgres.NewStatement("os_lines", `SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line
		WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3`, i4, i4, i4)

	// Deliveries of a warehouse take turns: two that looked for the oldest order at the
	// same time would find the same one.
	dyTurn   = postgres.NewStatement("dy_turn", `SELECT pg_advisory_xact_lock(7630, $1)`, i4)
	dyOldest = postgres.NewStatement("dy_oldest", `DELETE FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 AND no_o_id =
		(SELECT no_o_id FROM new_order WHERE no_w_id = $1 AND no_d_id = $2 ORDER BY no_o_id LIMIT 1) RETURNING no_o_id`, i4, i4)
	dyOrder = postgres.NewStatement("dy_order", `UPDATE orders SET o_carrier_id = $4 WHERE o_w_id = $1 AND o_d_id = $2 AND o_id = $3 RETURNING o_c_id`, i4, i4, i4, i4)
	dyLines = postgres.NewStatement("dy_lines", `WITH delivered AS (UPDATE order_line SET ol_delivery_d = localtimestamp
		WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id = $3 RETURNING ol_amount) SELECT sum(ol_amount) FROM delivered`, i4, i4, i4)
	dyCustomer = postgres.NewStatement("dy_customer", `UPDATE customer SET c_balance = c_balance + $4::numeric, c_delivery_cnt = c_delivery_cnt + 1
		WHERE c_w_id = $1 AND c_d_id = $2 AND c_id = $3`, i4, i4, i4, tx)

	slDistrict = postgres.NewStatement("sl_district", `SELECT d_next_o_id FROM district WHERE d_w_id = $1 AND d_id = $2`, i4, i4)
	slCount    = postgres.NewStatement("sl_count", `SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
		WHERE ol_w_id = $1 AND ol_d_id = $2 AND ol_o_id < $3 AND ol_o_id >= $3 - 20 AND s_quantity < $4`, i4, i4, i4, i4)
)

const (
	i4 = postgres.AsBinary
	tx = postgres.AsText
)

// statements are all of them.
func statements() []*postgres.Statement {
	return []*postgres.Statement{
		beginTransaction, commitTransaction, rollbackTransaction,
		noDistrict, noWarehouse, noCustomer, noItem, noStock, noOrder, noNew, noLine,
		pyWarehouse, pyDistrict, byName, pyCustomer, pyHistory, osCustomer, osOrder, osLines,
		dyTurn, dyOldest, dyOrder, dyLines, dyCustomer, slDistrict, slCount,
	}
}
