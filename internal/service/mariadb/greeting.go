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
	// silence is how long a server may say nothing until it is asked who it is. One that
	// looks up the name of its client may be silent for as long as that takes.
	silence = time.Second
	// replying is how long it may take to answer that.
	replying = time.Second
)

// wary is a client of a server that already runs, and may be another than one believes: the
// first word is MariaDB's, and one would wait for it until patience ends where a server waits
// for the client's.
func (c client) wary() client {
	begin := c.Begin
	c.Begin = func(outer context.Context, conn net.Conn, at load.Endpoint) (service.Talk, error) {
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

// reply is what a server answers that does not greet on another connection either, when a
// client of PostgreSQL asks for TLS there, which is more or less rubbish to all others; empty
// where it says nothing.
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
	// A greeting, or an error in its place, has its length in three bytes, its number 0, and
	// its kind.
	said := make([]byte, 5)
	n, _ := io.ReadFull(conn, said)
	switch {
	case n == 0 || n == len(said) && said[3] == 0 && (said[4] == 10 || said[4] == 255):
		return ""
	case n == 1 && (said[0] == 'S' || said[0] == 'N'): // yes or no, and the next word is the client's
		return "as PostgreSQL does"
	}
	return fmt.Sprintf("%q", said[:n])
}
