package cqliot

import (
	"context"

	"plimsoll/internal/cql"
	"plimsoll/internal/wire"
)

// first is a connection to the first node that accepts one; without any, the error is the
// first node's.
func first[C any](nodes []cql.Target, dial func(cql.Target) (C, error)) (conn C, err error) {
	for n, at := range nodes {
		c, failed := dial(at)
		if failed == nil {
			return c, nil
		}
		if n == 0 {
			err = failed
		}
		if !wire.Gone(failed) {
			break
		}
	}
	return conn, err
}

// connect connects to the first node that takes a connection.
func connect(ctx context.Context, nodes []cql.Target) (*cql.Conn, error) {
	return first(nodes, func(at cql.Target) (*cql.Conn, error) { return cql.Dial(ctx, at) })
}

// join connects to a node of a ring. Where nothing listens there, another may know that
// it has left the ring, which the error says then.
func join(ctx context.Context, nodes []cql.Target, number int) (*cql.Conn, error) {
	at := nodes[number]
	c, err := cql.Dial(ctx, at)
	if !wire.Gone(err) {
		return c, err
	}
	other, none := connect(ctx, nodes)
	if none != nil {
		return nil, err
	}
	defer other.Close()
	if members, unknown := cql.Members(ctx, other); unknown == nil && cql.Left(members, at.Address) {
		return nil, cql.Missing(at.Address, len(members))
	}
	return nil, err
}
