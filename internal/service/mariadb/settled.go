package mariadb

import (
	"context"
	"fmt"
)

// settledHistory is the history list length up to which a server counts as idle. An idle
// server keeps some tens.
const settledHistory = 1000

// unsettled reports pending purge.
func (c client) unsettled(ctx context.Context) (string, error) {
	counts, err := c.count(ctx)
	if n := counts["mariadb.history"]; err == nil && n > settledHistory {
		return fmt.Sprintf("purge of %.0f transactions", n), nil
	}
	return "", err
}
