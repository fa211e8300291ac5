// Package driver does the operations of the workload cql-iot through the Go driver of
// Apache Cassandra, so that plimsoll's own client can be held against it. It alone
// imports that driver.
package driver

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"plimsoll/internal/workload/cqliot/foreign"
)

// Session is connected. It may be used by many goroutines.
type Session struct {
	session     *gocql.Session
	place       foreign.Target
	read, write gocql.Consistency
}

// Open connects to the nodes.
func Open(p foreign.Target) (foreign.Session, error) {
	s := &Session{place: p}
	var hosts []string
	port := 0
	for _, a := range p.Addresses {
		host, text, err := net.SplitHostPort(a)
		if err != nil {
			return nil, fmt.Errorf("address %q: %w", a, err)
		}
		if port, err = strconv.Atoi(text); err != nil {
			return nil, fmt.Errorf("address %q: %w", a, err)
		}
		hosts = append(hosts, host)
	}
	var err error
	if s.read, err = gocql.ParseConsistencyWrapper(p.Read); err != nil {
		return nil, fmt.Errorf("read consistency: %w", err)
	}
	if s.write, err = gocql.ParseConsistencyWrapper(p.Write); err != nil {
		return nil, fmt.Errorf("write consistency: %w", err)
	}
	c := gocql.NewCluster(hosts...)
	c.Port, c.ProtoVersion, c.NumConns = port, p.Protocol, p.Connections
	c.Timeout, c.ConnectTimeout = p.Timeout, p.Timeout
	c.DisableInitialHostLookup = len(hosts) == 1
	c.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	if p.User != "" {
		c.Authenticator = gocql.PasswordAuthenticator{Username: p.User, Password: p.Password}
	}
	if p.TLS != nil {
		c.SslOpts = &gocql.SslOptions{Config: p.TLS, EnableHostVerification: !p.TLS.InsecureSkipVerify}
	}
	if s.session, err = c.CreateSession(); err != nil {
		return nil, fmt.Errorf("connect by the Go driver: %w", err)
	}
	return s, nil
}

// Close ends the session.
func (s *Session) Close() { s.session.Close() }

// Insert writes a reading.
func (s *Session) Insert(ctx context.Context, r foreign.Reading) error {
	return s.session.Query(s.place.Insert, r.Machine, r.Sensor, r.Time, r.Value, r.Station, r.Data, r.Time*1000).
		Consistency(s.write).Idempotent(true).ExecContext(ctx)
}

// Select reads the last readings of a sensor, and returns the number of rows and the bytes
// of data.
func (s *Session) Select(ctx context.Context, machine [16]byte, sensor string) (rows int, bytes int64, err error) {
	iter := s.session.Query(s.place.Select, machine, sensor).Consistency(s.read).Idempotent(true).IterContext(ctx)
	var r foreign.Reading
	var name string
	var id, station gocql.UUID
	var at time.Time
	for iter.Scan(&id, &name, &at, &r.Data, &r.Value, &station) {
		rows++
		bytes += int64(len(r.Data))
	}
	return rows, bytes, iter.Close()
}
