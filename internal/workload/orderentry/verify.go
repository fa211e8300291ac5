package orderentry

import "plimsoll/internal/engine/dataset"

// conditions are those of consistency of clause 3.3.2, by their number there.
var conditions = []dataset.Condition{
	{Number: 1, What: "a warehouse's sum is that of its districts", SQL: "SELECT count(*) FROM warehouse WHERE w_ytd <> (SELECT sum(d_ytd) FROM district WHERE d_w_id = w_id)"},
	{Number: 2, What: "the next order of a district follows its last", SQL: `SELECT count(*) FROM district WHERE
		d_next_o_id - 1 <> (SELECT max(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id) OR
		d_next_o_id - 1 <> (SELECT max(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)`},
	{Number: 3, What: "no new order is left out", SQL: "SELECT count(*) FROM (SELECT 1 FROM new_order GROUP BY no_w_id, no_d_id HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*)) AS broken"},
	{Number: 4, What: "a district has the lines that its orders have", SQL: dataset.Unequal("w, d",
		"SELECT o_w_id AS w, o_d_id AS d, sum(o_ol_cnt) AS n FROM orders GROUP BY o_w_id, o_d_id",
		"SELECT ol_w_id, ol_d_id, -count(*) FROM order_line GROUP BY ol_w_id, ol_d_id")},
	{Number: 5, What: "an order has a carrier or is new", SQL: `SELECT count(*) FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
		WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)`},
	{Number: 6, What: "an order has its lines", SQL: dataset.Unequal("w, d, o",
		"SELECT o_w_id AS w, o_d_id AS d, o_id AS o, o_ol_cnt AS n FROM orders",
		"SELECT ol_w_id, ol_d_id, ol_o_id, -count(*) FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id")},
	{Number: 7, What: "a line is delivered when its order is", SQL: `SELECT count(*) FROM order_line JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
		WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)`},
	{Number: 8, What: "a warehouse's sum is that of its payments", SQL: dataset.Unequal("w",
		"SELECT w_id AS w, w_ytd AS n FROM warehouse",
		"SELECT h_w_id, -sum(h_amount) FROM history GROUP BY h_w_id")},
	{Number: 9, What: "a district's sum is that of its payments", SQL: dataset.Unequal("w, d",
		"SELECT d_w_id AS w, d_id AS d, d_ytd AS n FROM district",
		"SELECT h_w_id, h_d_id, -sum(h_amount) FROM history GROUP BY h_w_id, h_d_id")},
}
