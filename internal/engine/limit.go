package engine

import (
	"context"
	"fmt"
	"time"
)

// Limit has the server end each statement of a session that takes longer; 0 lets them take
// as long as they need. The server keeps the time, so that it does not go on alone.
func Limit(ctx context.Context, s Conn, longest time.Duration) error {
	sql := fmt.Sprintf("SET statement_timeout = %d", longest.Milliseconds())
	if Speaks(s) == MariaDB {
		sql = fmt.Sprintf("SET max_statement_time = %.3f", longest.Seconds())
	}
	if err := s.Exec(ctx, sql); err != nil {
		return fmt.Errorf("limit the time of a statement: %w", err)
	}
	return nil
}
