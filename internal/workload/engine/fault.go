package engine

import (
	"errors"

	"plimsoll/internal/mysql"
	"plimsoll/internal/postgres"
	"plimsoll/internal/wire"
)

// Absent reports whether the error is that a database does not exist.
func Absent(err error) bool { return postgres.Absent(err) || mysql.Absent(err) }

// Gone reports whether the error is that nothing listens at the address.
func Gone(err error) bool { return wire.Gone(err) }

// Refused reports whether the server rejected a statement and the session continues.
func Refused(err error) bool {
	var p *postgres.Fault
	var m *mysql.Fault
	return errors.As(err, &p) && !p.Fatal || errors.As(err, &m) && !m.Fatal()
}

// Canceled reports whether a statement exceeded its timeout.
func Canceled(err error) bool { return postgres.Canceled(err) || mysql.Canceled(err) }

// Forbidden reports whether the user lacks a privilege.
func Forbidden(err error) bool {
	var f *mysql.Fault
	return postgres.Forbidden(err) || errors.As(err, &f) && f.Forbidden()
}
