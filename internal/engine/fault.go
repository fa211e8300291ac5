package engine

import (
	"errors"

	"plimsoll/internal/mysql"
	"plimsoll/internal/postgres"
	"plimsoll/internal/wire"
)

// Absent says whether an error is that a database does not exist.
func Absent(err error) bool { return postgres.Absent(err) || mysql.Absent(err) }

// Gone says whether an error is that nothing listens any more.
func Gone(err error) bool { return wire.Gone(err) }

// Refused says whether an error is that a server would not do one thing, and goes on.
func Refused(err error) bool {
	var p *postgres.Fault
	var m *mysql.Fault
	return errors.As(err, &p) && !p.Fatal || errors.As(err, &m) && !m.Fatal()
}

// Canceled says whether an error is that a statement took longer than it may.
func Canceled(err error) bool { return postgres.Canceled(err) || mysql.Canceled(err) }

// Forbidden says whether an error is that the user of the session may not do something.
func Forbidden(err error) bool {
	var f *mysql.Fault
	return postgres.Forbidden(err) || errors.As(err, &f) && f.Forbidden()
}
