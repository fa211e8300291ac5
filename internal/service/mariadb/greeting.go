package mariadb

import (
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/service"
)

const (
	// silence is the time that a server may take for its greeting before it is tested. A
	// server that resolves the name of its client may take longer.
	silence = time.Second
	// replying is the time limit of that test.
	replying = time.Second
)

// wary is a client of a server that may not be MariaDB: MariaDB sends the first message, and a
// server that waits for the client's would otherwise be waited for until the timeout.
func (c client) wary() client {
	begin := c.Begin
	c.Begin = func(outer context.Context, conn net.Conn, at load.Endpoint) (service.SQLSession, error) {
		ctx, cancel := context.WithCancelCause(outer)
		defer cancel(nil)
		doubt := time.AfterFunc(silence, func() {
			if said := c.reply(ctx, at); said != "" {
				cancel(fmt.Errorf("the server at %s does not speak the protocol of MariaDB: it answers %s: correct address", at.Address, said))
			}
		})
		talk, err := begin(ctx, conn, at)
		doubt.Stop()
		if err != nil && outer.Err() == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return talk, err
	}
	return c
}

// reply is the answer to PostgreSQL's request for TLS on a second connection, which is invalid
// to most other servers; empty if there is none.
func (c client) reply(ctx context.Context, at load.Endpoint) string {
	ctx, cancel := context.WithTimeout(ctx, replying)
	defer cancel()
	conn, err := service.Dial(ctx, c.Machine, at)
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err != nil { // SSLRequest
		return ""
	}
	// A greeting, or an error instead of it: length in three bytes, sequence number 0, type.
	said := make([]byte, 5)
	n, _ := io.ReadFull(conn, said)
	switch {
	case n == 0 || n == len(said) && said[3] == 0 && (said[4] == 10 || said[4] == 255):
		return ""
	case n == 1 && (said[0] == 'S' || said[0] == 'N'): // yes or no; the client speaks next
		return "as PostgreSQL does"
	}
	return fmt.Sprintf("%q", said[:n])
}
