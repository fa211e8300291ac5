package cql

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// Member is a node of a ring.
type Member struct {
	ID      string // host ID, constant over the node's life
	Address string // host:port for clients, as the node reports it
	Tokens  string // comma-separated
}

// Querier executes queries on a node, as Conn does.
type Querier interface {
	Query(ctx context.Context, text string) ([][]string, error)
}

// Members returns the nodes of the ring that a node reports: itself first, and then the other
// owners of tokens, whether up or down.
func Members(ctx context.Context, node Querier) ([]Member, error) {
	var all []Member
	for _, text := range []string{
		"SELECT host_id, rpc_address, rpc_port, tokens FROM system.local",
		"SELECT host_id, native_address, native_port, tokens FROM system.peers_v2",
	} {
		rows, err := node.Query(ctx, text)
		if err != nil {
			return nil, fmt.Errorf("query the nodes of the ring: %w", err)
		}
		for _, row := range rows {
			if len(row) == 4 && row[3] != "" { // a node without tokens has not joined yet
				all = append(all, Member{ID: row[0], Address: net.JoinHostPort(row[1], row[2]), Tokens: row[3]})
			}
		}
	}
	return all, nil
}

// Missing is the error for a node that has left its ring, with the number of remaining nodes.
func Missing(address string, left int) error {
	return fmt.Errorf("the node at %s has left the ring (%d still in it): remove it from address if it is listed there", address, left)
}

// Watch subscribes to topology and status events of the ring, for which Await waits.
func (c *Conn) Watch(ctx context.Context) error {
	return c.during(ctx, func() error {
		c.stream.Out = c.session.say.register(c.stream.Out, "TOPOLOGY_CHANGE", "STATUS_CHANGE")
		m, err := c.reply()
		if err == nil && m.Opcode != opReady {
			err = fmt.Errorf("unexpected response to REGISTER: message type %d", m.Opcode)
		}
		return err
	})
}

// Await waits for an event since the last Await, or Watch. It waits as long as the context; a
// closed connection is an error.
func (c *Conn) Await(ctx context.Context) error {
	defer func() { c.told = false }()
	return c.stream.During(ctx, func() error {
		for !c.told {
			m, err := c.receive()
			if err != nil {
				return err
			}
			c.told = m.Stream < 0
		}
		return nil
	})
}

// register appends a REGISTER request.
func (w writer) register(b []byte, events ...string) []byte {
	b, at := w.begin(b, opRegister, 1)
	b = binary.BigEndian.AppendUint16(b, uint16(len(events)))
	for _, one := range events {
		b = appendShort(b, one)
	}
	return w.end(b, at)
}

// Left reports whether no node of the ring has an address, so that its node has left. It is
// false for a host name, which a ring does not know.
func Left(members []Member, address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && !slices.ContainsFunc(members, func(m Member) bool {
		one, err := netip.ParseAddrPort(m.Address)
		return err != nil || one == at
	})
}
