package mariadb

import (
	"context"
	"fmt"
)

// settledHistory is how many transactions may wait to be purged when a trial begins. A
// server at rest keeps some tens.
const settledHistory = 1000

// unsettled looks for the purge of rows that no transaction sees any more.
func (c client) unsettled(ctx context.Context) (string, error) {
	counts, err := c.count(ctx)
	if n := counts["mariadb.history"]; err == nil && n > settledHistory {
		return fmt.Sprintf("purge of %.0f transactions", n), nil
	}
	return "", err
}
