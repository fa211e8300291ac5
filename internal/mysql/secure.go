package mysql

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"plimsoll/internal/wire"
)

// Secure reads the server's handshake packet, and requests TLS. The returned connection begins
// with the handshake packet again, with sequence number overTLS, so that a session starts as
// on any other.
func Secure(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error) {
	var first []byte
	err := wire.Plainly(ctx, conn, func() (err error) {
		if first, err = readFirst(conn); err != nil {
			return err
		}
		g, err := readGreeting(first[headLength:])
		switch {
		case err != nil:
			return err
		case g.can&canTLS == 0:
			return errors.New("the server does not support TLS: set ssl_cert and ssl_key there, or omit tls")
		}
		b, at := begin(nil, 1)
		_, err = conn.Write(end(g.appendAbilities(b, true), at))
		return err
	})
	if err != nil && ctx.Err() != nil && first == nil {
		err = ungreeted(err)
	}
	if err != nil {
		return nil, fmt.Errorf("request TLS: %w", err)
	}
	secure, err := wire.Handshake(ctx, conn, config)
	if err != nil {
		return nil, err
	}
	first[headLength-1] = overTLS
	return &replayedConn{secure, first}, nil
}

// overTLS is the sequence number of the repeated handshake packet: that of the TLS request, so
// that the response has the next.
const overTLS = 1

// readFirst reads exactly the first packet of a server.
func readFirst(conn net.Conn) ([]byte, error) {
	first := make([]byte, headLength)
	if _, err := io.ReadFull(conn, first); err != nil {
		return nil, err
	}
	if err := strange(first); err != nil {
		return nil, err
	}
	first = append(first, make([]byte, binary.LittleEndian.Uint16(first))...)
	if _, err := io.ReadFull(conn, first[headLength:]); err != nil {
		return nil, err
	}
	if len(first) > headLength && first[headLength] == headFailure {
		return nil, fmt.Errorf("the server refused: %w", ReadFault(first[headLength:]))
	}
	return first, nil
}

// replayedConn is a TLS connection that begins with data read before.
type replayedConn struct {
	wire.Secured
	before []byte
}

// Read returns the data read before, and then the connection's.
func (h *replayedConn) Read(p []byte) (int, error) {
	if len(h.before) == 0 {
		return h.Secured.Read(p)
	}
	n := copy(p, h.before)
	h.before = h.before[n:]
	return n, nil
}
