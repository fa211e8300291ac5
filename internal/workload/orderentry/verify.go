package orderentry

import (
	"fmt"

	"plimsoll/internal/workload/engine/dataset"
)

// unequal is SQL that counts the keys for which one of several sums, over the rows of both
// queries together, is not 0.
func unequal(key, sums, one, other string) string {
	return "SELECT count(*) FROM (SELECT 1 FROM (" + one + " UNION ALL " + other + ") AS sides GROUP BY " + key + " HAVING " + sums + ") AS broken"
}

// delivered are the amounts of a customer's delivered lines, negative. The lines of the
// first delivered orders are worth nothing, and add nothing to a sum.
const delivered = `SELECT o_w_id, o_d_id, o_c_id, -ol_amount FROM order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
	WHERE ol_amount <> 0 AND ol_delivery_d IS NOT NULL`

// conditions are those of consistency of clause 3.3.2, by their number there, and from 13
// on what follows from the transactions of clause 2: sums of the stock, of lines and of
// payments, which the clause leaves out.
func conditions(z size) []dataset.Condition {
	return []dataset.Condition{
		{Number: 1, What: "W_YTD = sum(D_YTD)", SQL: "SELECT count(*) FROM warehouse WHERE w_ytd <> (SELECT sum(d_ytd) FROM district WHERE d_w_id = w_id)"},
		{Number: 2, What: "D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)", SQL: `SELECT count(*) FROM district WHERE
			d_next_o_id - 1 <> (SELECT max(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) OR
			d_next_o_id - 1 <> (SELECT max(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)`},
		{Number: 3, What: "max(NO_O_ID) - min(NO_O_ID) + 1 = rows of NEW_ORDER", SQL: "SELECT count(*) FROM (SELECT 1 FROM new_order GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) AS broken"},
		{Number: 4, What: "sum(O_OL_CNT) = rows of ORDER_LINE", SQL: dataset.Unequal("w, d",
			"SELECT o_w_id AS w, o_d_id AS d, sum(o_ol_cnt) AS n FROM orders GROUP BY o_w_id, o_d_id",
			"SELECT ol_w_id, ol_d_id, -count(*) FROM order_line GROUP BY ol_w_id, ol_d_id")},
		{Number: 5, What: "O_CARRIER_ID is null where NEW_ORDER has the order", SQL: `SELECT count(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
			WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)`},
		{Number: 6, What: "O_OL_CNT = rows of ORDER_LINE of the order", SQL: dataset.Unequal("w, d, o",
			"SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_ol_cnt AS n FROM orders",
			"SELECT ol_w_id, ol_d_id, ol_o_id, -count(*) FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id")},
		{Number: 7, What: "OL_DELIVERY_D is null where O_CARRIER_ID is", SQL: `SELECT count(*) FROM order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
			WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)`},
		{Number: 8, What: "W_YTD = sum(H_AMOUNT)", SQL: dataset.Unequal("w",
			"SELECT w_id AS w, w_ytd AS n FROM warehouse",
			"SELECT h_w_id, -sum(h_amount) FROM history GROUP BY h_w_id")},
		{Number: 9, What: "D_YTD = sum(H_AMOUNT)", SQL: dataset.Unequal("w, d",
			"SELECT d_w_id AS w, d_id AS d, d_ytd AS n FROM district",
			"SELECT h_w_id, h_d_id, -sum(h_amount) FROM history GROUP BY h_w_id, h_d_id")},
		{Number: 10, What: "C_BALANCE = sum(OL_AMOUNT) of delivered lines - sum(H_AMOUNT)", SQL: dataset.Unequal("w, d, c",
			"SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance AS n FROM customer",
			"SELECT h_c_w_id, h_c_d_id, h_c_id, h_amount FROM history UNION ALL "+delivered)},
		// The clause has a constant, 2100: the orders that are delivered at first.
		{Number: 11, What: fmt.Sprintf("rows of ORDERS - rows of NEW_ORDER = %d + sum(C_DELIVERY_CNT)", z.customers-z.undelivered()), SQL: dataset.Unequal("w, d",
			"SELECT o_w_id AS w, o_d_id AS d, count(*) AS n FROM orders GROUP BY o_w_id, o_d_id",
			fmt.Sprintf(`SELECT no_w_id, no_d_id, -count(*) FROM new_order GROUP BY no_w_id, no_d_id UNION ALL
			SELECT c_w_id, c_d_id, -sum(c_delivery_cnt) FROM customer GROUP BY c_w_id, c_d_id UNION ALL SELECT d_w_id, d_id, %d FROM district`, z.undelivered()-z.customers))},
		{Number: 12, What: "C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT) of delivered lines", SQL: dataset.Unequal("w, d, c",
			"SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_balance + c_ytd_payment AS n FROM customer", delivered)},
		{Number: 13, What: "S_YTD, S_ORDER_CNT and S_REMOTE_CNT = sum(OL_QUANTITY), rows and remote rows of new lines", SQL: unequal("w, i",
			"sum(quantity) <> 0 OR sum(n) <> 0 OR sum(remote) <> 0",
			"SELECT s_w_id AS w, s_i_id AS i, s_ytd AS quantity, s_order_cnt AS n, s_remote_cnt AS remote FROM stock WHERE s_ytd <> 0 OR s_order_cnt <> 0 OR s_remote_cnt <> 0",
			fmt.Sprintf("SELECT ol_supply_w_id, ol_i_id, -ol_quantity, -1, CASE WHEN ol_supply_w_id <> ol_w_id THEN -1 ELSE 0 END FROM order_line WHERE ol_o_id > %d", z.customers))},
		// Stock is replenished by 91 where it would fall below 10.
		{Number: 14, What: "S_QUANTITY = its first value - S_YTD + 91 for each replenishment", SQL: `SELECT count(*) FROM stock LEFT JOIN first_stock ON f_w_id = s_w_id AND f_i_id = s_i_id
			WHERE f_quantity IS NULL OR (s_quantity - f_quantity + s_ytd) % 91 <> 0 OR s_quantity NOT BETWEEN 10 AND 100`},
		{Number: 15, What: "OL_AMOUNT = OL_QUANTITY * I_PRICE of new lines", SQL: fmt.Sprintf(`SELECT count(*) FROM order_line LEFT JOIN item ON i_id = ol_i_id
			WHERE ol_o_id > %d AND (i_price IS NULL OR ol_amount <> ol_quantity * i_price)`, z.customers)},
		{Number: 16, What: "C_YTD_PAYMENT and C_PAYMENT_CNT = sum(H_AMOUNT) and rows of HISTORY", SQL: unequal("w, d, c", "sum(amount) <> 0 OR sum(n) <> 0",
			"SELECT c_w_id AS w, c_d_id AS d, c_id AS c, c_ytd_payment AS amount, c_payment_cnt AS n FROM customer",
			"SELECT h_c_w_id, h_c_d_id, h_c_id, -h_amount, -1 FROM history")},
	}
}
