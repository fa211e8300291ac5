package cassandra

import (
	"context"
	"fmt"
)

// unsettled looks for compactions and for memtables on their way to the disk.
func (c client) unsettled(ctx context.Context) (string, error) {
	counts, err := c.count(ctx)
	if err != nil {
		return "", err
	}
	compactions, flushes := counts["cassandra.compactions_pending"], counts["cassandra.flushes_pending"]
	if compactions+flushes == 0 {
		return "", nil
	}
	return fmt.Sprintf("%.0f compactions and %.0f flushes of memtables", compactions, flushes), nil
}
