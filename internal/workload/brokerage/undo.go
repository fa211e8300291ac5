package brokerage

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dataset"
)

// changed are the tables whose first rows a load changes: they are small, and filled again.
var changed = []string{"broker", "customer_account", "holding_summary", "holding"}

// undo reverts the changes of a load on MariaDB: it deletes added trades, by their numbers,
// and refills changed tables. It is far faster than a copy of all rows.
func undo(z size, seed uint64) []dataset.Job {
	var b strings.Builder
	for table, trade := range map[string]string{"trade": "t_id", "trade_history": "th_t_id", "settlement": "se_t_id", "cash_transaction": "ct_t_id", "holding_history": "hh_t_id"} {
		fmt.Fprintf(&b, "DELETE FROM %s WHERE %s > %d; ", table, trade, z.trades())
	}
	fmt.Fprintf(&b, "ALTER TABLE trade AUTO_INCREMENT = %d; TRUNCATE TABLE trade_request; TRUNCATE TABLE last_trade", z.trades()+1)
	for _, table := range changed {
		b.WriteString("; TRUNCATE TABLE " + table)
	}
	all := []dataset.Job{dataset.SQL("added trades", b.String())}
	for _, t := range filled {
		if slices.Contains(changed, t.name) {
			all = append(all, t.pieces(engine.MariaDB, z, seed)...)
		}
	}
	return append(all, lastTrades(z, seed))
}
