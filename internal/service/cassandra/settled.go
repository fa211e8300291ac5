package cassandra

import (
	"context"
	"fmt"
	"strings"
)

// unsettled reports compactions and memtable flushes in progress.
func (c client) unsettled(ctx context.Context) (string, error) {
	counts, err := c.count(ctx)
	if err != nil {
		return "", err
	}
	var busy []string
	for _, one := range []struct{ metric, phrase string }{
		{"cassandra.compactions_pending", "compactions running or pending"}, {"cassandra.flushes_pending", "memtable flushes running or pending"},
	} {
		if n := counts[one.metric]; n > 0 {
			busy = append(busy, fmt.Sprintf("%.0f %s", n, one.phrase))
		}
	}
	return strings.Join(busy, " and "), nil
}
