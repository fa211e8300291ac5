package cassandra

import (
	"context"

	"plimsoll/internal/cql"
	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// client queries the nodes of a ring, by default the first.
type client struct{ service.Client }

func newClient(m platform.Machine, at load.Endpoint) client {
	return client{service.Client{Machine: m, Endpoint: at, Begin: service.Beginning(place, cql.On)}}
}

// place is the address of a node, with the protocol version common to all releases.
func place(e load.Endpoint) (cql.Target, error) { return cql.At(e, cql.V4) }

// at queries one node.
func (c client) at(address string) client {
	c.Endpoint.Address, c.Endpoint.More = address, nil
	return c
}

func (c client) addresses() []string {
	return append([]string{c.Endpoint.Address}, c.Endpoint.More...)
}

// Ask queries the first node that responds.
func (c client) Ask(ctx context.Context, text string) (rows [][]string, err error) {
	for _, address := range c.addresses() {
		rows, failed := c.at(address).Client.Ask(ctx, text)
		if failed == nil {
			return rows, nil
		}
		if err == nil {
			err = failed
		}
	}
	return nil, err
}

// each talks to the nodes, one after the other.
func (c client) each(ctx context.Context, do func(ctx context.Context, node service.SQLSession) error) error {
	for _, address := range c.addresses() {
		if err := c.at(address).Talk(ctx, do); err != nil {
			return c.explain(ctx, address, err)
		}
	}
	return nil
}

// explain asks the other nodes whether a failed node has left the ring.
func (c client) explain(ctx context.Context, address string, trouble error) error {
	for _, other := range c.addresses() {
		var members []cql.Member
		err := c.at(other).Talk(ctx, func(ctx context.Context, node service.SQLSession) (err error) {
			members, err = cql.Members(ctx, node)
			return err
		})
		if err == nil && cql.Left(members, address) {
			return cql.Missing(address, len(members))
		}
		if err == nil {
			break
		}
	}
	return trouble
}
