package brokerage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/postgres"
)

// conditions are what the data has to keep to. Each query counts what breaks it. The first
// of them cost the least.
var conditions = []struct{ what, sql string }{
	{"what waits for a price is pending", `SELECT count(*) FROM (SELECT t_id FROM trade WHERE t_st_id = 'PNDG') AS t FULL JOIN trade_request ON tr_t_id = t_id WHERE t_id IS NULL OR tr_t_id IS NULL`},
	{"a broker's trades and commissions are those of his accounts", `SELECT count(*) FROM broker LEFT JOIN (SELECT ca_b_id, count(*) AS trades, sum(t_comm) AS comm
		FROM trade JOIN customer_account ON ca_id = t_ca_id WHERE t_st_id = 'CMPT' GROUP BY 1) AS t ON ca_b_id = b_id
		WHERE b_num_trades <> coalesce(trades, 0) OR b_comm_total <> coalesce(comm, 0)`},
	{"an account's balance is what was paid", `SELECT count(*) FROM customer_account LEFT JOIN (SELECT t_ca_id, sum(ct_amt) AS paid FROM cash_transaction JOIN trade ON t_id = ct_t_id GROUP BY 1) AS c
		ON t_ca_id = ca_id WHERE ca_bal <> ca_opening + coalesce(paid, 0)`},
	{"the sum of a security is that of its lots", `SELECT count(*) FROM holding_summary FULL JOIN (SELECT h_ca_id, h_s_symb, sum(h_qty) AS held FROM holding GROUP BY 1, 2) AS h
		ON h_ca_id = hs_ca_id AND h_s_symb = hs_s_symb WHERE hs_qty IS DISTINCT FROM held`},
	{"what is held was traded", `SELECT count(*) FROM holding_summary FULL JOIN (SELECT t_ca_id, t_s_symb, sum(CASE WHEN tt_is_sell THEN -t_qty ELSE t_qty END) AS traded
		FROM trade JOIN trade_type ON tt_id = t_tt_id WHERE t_st_id = 'CMPT' GROUP BY 1, 2) AS t ON t_ca_id = hs_ca_id AND t_s_symb = hs_s_symb WHERE coalesce(hs_qty, 0) <> coalesce(traded, 0)`},
	{"a lot is what its history says", `SELECT count(*) FROM (SELECT hh_h_t_id, sum(hh_after_qty - hh_before_qty) AS left_over FROM holding_history GROUP BY 1) AS h
		FULL JOIN holding ON h_t_id = hh_h_t_id WHERE coalesce(h_qty, 0) <> coalesce(left_over, 0)`},
	{"a trade is in the history of lots with its shares", `SELECT count(*) FROM (SELECT hh_t_id, sum(hh_after_qty - hh_before_qty) AS moved FROM holding_history GROUP BY 1) AS h
		FULL JOIN (SELECT t_id, CASE WHEN tt_is_sell THEN -t_qty ELSE t_qty END AS traded FROM trade JOIN trade_type ON tt_id = t_tt_id WHERE t_st_id = 'CMPT') AS t
		ON t_id = hh_t_id WHERE moved IS DISTINCT FROM traded`},
	{"what is completed is settled", `SELECT count(*) FROM (SELECT t_id FROM trade WHERE t_st_id = 'CMPT') AS t FULL JOIN settlement ON se_t_id = t_id WHERE t_id IS NULL OR se_t_id IS NULL`},
	{"what is settled in cash is paid", `SELECT count(*) FROM (SELECT se_t_id, se_amt FROM settlement JOIN trade ON t_id = se_t_id WHERE t_is_cash) AS s
		FULL JOIN cash_transaction ON ct_t_id = se_t_id WHERE se_amt IS DISTINCT FROM ct_amt`},
	{"a trade has been in the states that led to its own", `SELECT count(*) FROM (SELECT t_id, CASE t_st_id WHEN 'PNDG' THEN 0 WHEN 'SBMT' THEN 1 ELSE 2 END + CASE WHEN tt_is_mrkt THEN 0 ELSE 1 END AS states
		FROM trade JOIN trade_type ON tt_id = t_tt_id) AS t FULL JOIN (SELECT th_t_id, count(*) AS noted FROM trade_history GROUP BY 1) AS h ON th_t_id = t_id WHERE states IS DISTINCT FROM noted`},
}

// enoughTime is how long a worker may look after its load has ended.
const enoughTime = 30 * time.Second

// consistent checks the data against the conditions, as far as the time reaches.
func consistent(ctx context.Context, s *postgres.Conn, within time.Duration) (measure.Check, error) {
	c := measure.Check{Name: "consistency", State: measure.Pass}
	var broken []string
	over, judged := time.Now().Add(within), 0
	for i, condition := range conditions {
		// The server keeps the time, so that it does not go on alone.
		left := max(1, time.Until(over).Milliseconds())
		if err := s.Exec(ctx, fmt.Sprintf("SET statement_timeout = %d", left)); err != nil {
			return c, fmt.Errorf("limit the time for consistency: %w", err)
		}
		rows, err := s.Query(ctx, condition.sql)
		if postgres.Canceled(err) {
			break
		}
		if err != nil {
			return c, fmt.Errorf("check condition %d of consistency: %w", i+1, err)
		}
		judged++
		if n := rows[0][0]; n != "0" {
			broken = append(broken, fmt.Sprintf("condition %d, %s, is broken %s times", i+1, condition.what, n))
		}
	}
	c.Detail = fmt.Sprintf("conditions 1 to %d hold", judged)
	if judged < len(conditions) {
		c.State = measure.Unknown
		c.Detail = fmt.Sprintf("%d of %d conditions were looked at in %s, and none is broken", judged, len(conditions), within)
	}
	if len(broken) > 0 {
		c.State, c.Detail = measure.Fail, strings.Join(broken, "; ")
	}
	return c, nil
}
