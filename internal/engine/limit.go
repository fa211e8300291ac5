package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plimsoll/internal/mysql"
	"plimsoll/internal/postgres"
)

// Speaks is the protocol of a session.
func Speaks(s Conn) string {
	if _, is := s.(mysqlConn); is {
		return MariaDB
	}
	return PostgreSQL
}

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

// Canceled says whether an error is that a statement took longer than it may.
func Canceled(err error) bool { return postgres.Canceled(err) || mysql.Canceled(err) }

// Forbidden says whether an error is that the user of the session may not do something.
func Forbidden(err error) bool {
	var f *mysql.Fault
	return postgres.Forbidden(err) || errors.As(err, &f) && f.Forbidden()
}
