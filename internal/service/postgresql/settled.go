package postgresql

import (
	"context"
	"fmt"
)

// unsettled reports autovacuum, which processes tables after they were filled or changed.
func (c client) unsettled(ctx context.Context) (string, error) {
	rows, err := c.Ask(ctx, "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'")
	if err != nil || rows[0][0] == "0" {
		return "", err
	}
	return fmt.Sprintf("autovacuum in %s tables", rows[0][0]), nil
}
