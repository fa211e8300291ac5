// Package engine is one interface to PostgreSQL and MariaDB: addresses of servers, connections
// to prepare and verify data, and sessions for loads.
package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/mysql"
	"plimsoll/internal/wire"
)

// The protocols of services.
const (
	PostgreSQL = "postgresql"
	MariaDB    = "mysql"
)

// Protocols lists the supported protocols.
func Protocols() []string { return []string{PostgreSQL, MariaDB} }

// Server is the address of a server, its protocol and the account of the load.
type Server struct {
	Protocol string
	Private  bool // started by plimsoll: it is not restarted
	wire.Target
}

// Aim directs a load at servers, with TLS if they use it.
func Aim(job load.Job, servers []Server) load.Job {
	first := servers[0]
	job.Network, job.Address, job.More = first.Network, first.Address, further(servers)
	if first.TLS != nil {
		job.TLS, job.Upgrade = first.TLS.Clone(), dialects[first.Protocol].secure
		job.TLS.ServerName = "" // by server
	}
	return job
}

// Servers are those of a service: one, or several identical ones, to which dial connects. The
// first protocol that the target speaks is used.
func Servers(target func(protocol string) (load.Endpoint, error), dial func(context.Context, load.Endpoint) (net.Conn, error)) ([]Server, error) {
	if target == nil {
		return nil, errors.New("the load requires a database: add the service postgresql or mariadb to the study")
	}
	var why error
	for _, protocol := range Protocols() {
		at, err := target(protocol)
		if err != nil {
			if why == nil {
				why = err
			}
			continue
		}
		targets, err := wire.Targets(at, dial)
		if err != nil {
			return nil, err
		}
		all := make([]Server, len(targets))
		for i, t := range targets {
			all[i] = Server{protocol, at.Private, t}
		}
		return all, nil
	}
	return nil, fmt.Errorf("find a database: %w", why)
}

// further are the addresses of all servers but the first.
func further(servers []Server) []string {
	var more []string
	for _, s := range servers[1:] {
		more = append(more, s.Address)
	}
	return more
}

// Each calls do for each server and its number, several concurrently. The first error cancels
// the rest.
func Each(ctx context.Context, servers []Server, do func(ctx context.Context, number int, at Server) error) error {
	return wire.Each(ctx, servers, do)
}

// Conn is a session for one statement at a time. It is used by one goroutine.
type Conn interface {
	// Query runs SQL, which may hold several statements, and returns the rows of all of
	// them as text; NULL is empty.
	Query(ctx context.Context, sql string) ([][]string, error)
	// Exec runs SQL and discards its rows.
	Exec(ctx context.Context, sql string) error
	// Fill appends rows to a table by COPY or LOAD DATA. The columns are in parentheses, or
	// empty for all. Rows are in the text format of
	// COPY, which is that of LOAD DATA.
	Fill(ctx context.Context, table, columns string, fill func(b []byte) (rows []byte, more bool)) error
	// Close ends the session.
	Close()
}

// Dial starts a session in a database; an empty name is the default database. Its errors are
// one line that says what the user can do.
func Dial(ctx context.Context, at Server, database string) (Conn, error) {
	return dialects[at.Protocol].dial(ctx, at.Target, database)
}

// Speaks is the protocol of a session.
func Speaks(s Conn) string {
	if _, is := s.(*mysql.Conn); is {
		return MariaDB
	}
	return PostgreSQL
}

// Visit starts a session in a database; it is nil if the database is not visible to the user.
// The catalog is queried first, because PostgreSQL logs a connection to a missing database as
// a fatal error.
func Visit(ctx context.Context, at Server, database string) (Conn, error) {
	s, err := Dial(ctx, at, "")
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if there, err := sees(ctx, s, database); err != nil || !there {
		return nil, err
	}
	inside, err := Dial(ctx, at, database)
	if Absent(err) { // it was removed meanwhile
		return nil, nil
	}
	return inside, err
}

// sees reports whether a database exists and the user has some privilege on it, which on
// PostgreSQL all users have.
func sees(ctx context.Context, s Conn, database string) (bool, error) {
	rows, err := s.Query(ctx, dialects[Speaks(s)].visible(database))
	if err != nil {
		return false, fmt.Errorf("look up the database %s: %w", database, err)
	}
	return len(rows) > 0, nil
}

// Drop removes databases, with the sessions in them.
func Drop(ctx context.Context, at Server, names ...string) error {
	return dialects[at.Protocol].drop(ctx, at.Target, names...)
}

// MayMake checks whether the user of a session may create databases with a prefix.
func MayMake(ctx context.Context, at Server, s Conn, prefix string) error {
	ask, grant := dialects[at.Protocol].mayCreate(prefix)
	rows, err := s.Query(ctx, ask)
	switch {
	case err != nil:
		return fmt.Errorf("query the database user: %w", err)
	case len(rows) != 1 || rows[0][0] != "1":
		return fmt.Errorf("the database user may not create databases: %s there", grant)
	}
	return nil
}

// Limit sets the statement timeout of a session; 0 disables it. The server enforces it, so
// that no statement outlives its client.
func Limit(ctx context.Context, s Conn, timeout time.Duration) error {
	if err := s.Exec(ctx, dialects[Speaks(s)].limit(timeout)); err != nil {
		return fmt.Errorf("set the statement timeout: %w", err)
	}
	return nil
}
