package cassandra

import (
	"context"
	"fmt"
	"strings"
)

// unsettled looks for compactions and for memtables on their way to the disk.
func (c client) unsettled(ctx context.Context) (string, error) {
	counts, err := c.count(ctx)
	if err != nil {
		return "", err
	}
	var busy []string
	for _, one := range []struct{ metric, phrase string }{
		{"cassandra.compactions_pending", "compactions that run or are due"}, {"cassandra.flushes_pending", "memtables on their way to the disk"},
	} {
		if n := counts[one.metric]; n > 0 {
			busy = append(busy, fmt.Sprintf("%.0f %s", n, one.phrase))
		}
	}
	return strings.Join(busy, " and "), nil
}
