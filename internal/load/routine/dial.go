package routine

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"syscall"

	"plimsoll/internal/load"
)

// dialer makes connections.
type dialer struct {
	net.Dialer
	network, address string
	number           int // among the addresses of the load
	tls              *tls.Config
	upgrade          func(context.Context, net.Conn, *tls.Config) (net.Conn, error)
}

// newDialers makes one for each address of a load.
func newDialers(ctx context.Context, job load.Job) ([]*dialer, error) {
	var all []*dialer
	for _, address := range append([]string{job.Address}, job.More...) {
		job.Address = address
		d, err := newDialer(ctx, job)
		if err != nil {
			return nil, err
		}
		d.number = len(all)
		all = append(all, d)
	}
	return all, nil
}

// newDialer resolves the address once. A name with several addresses is left to the dialler,
// which tries them all.
func newDialer(ctx context.Context, job load.Job) (*dialer, error) {
	d := &dialer{network: job.Network, address: job.Address, tls: job.TLS, upgrade: job.Upgrade}
	d.Timeout = job.Timeout
	if job.Socket != nil {
		d.Control = func(_, _ string, raw syscall.RawConn) error {
			var err error
			if outer := raw.Control(func(fd uintptr) { err = job.Socket(int(fd)) }); outer != nil {
				return outer
			}
			return err
		}
	}
	if job.Network == "unix" {
		return d, nil
	}
	host, port, err := net.SplitHostPort(job.Address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", job.Address, err)
	}
	found, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("find the address of %s: %w", host, err)
	}
	if len(found) == 1 {
		d.address = net.JoinHostPort(found[0].String(), port)
	}
	if d.upgrade == nil {
		d.upgrade = begin
	}
	if d.tls != nil && d.tls.ServerName == "" {
		d.tls = d.tls.Clone()
		d.tls.ServerName = host
	}
	return d, nil
}

// dial opens a connection, ready for a dialogue.
func (d *dialer) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	conn, err := d.DialContext(ctx, d.network, d.address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", d.address, err)
	}
	if d.tls == nil {
		return conn, nil
	}
	secure, err := d.upgrade(ctx, conn, d.tls)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("connect to %s: %w", d.address, err)
	}
	return secure, nil
}

// begin starts TLS at once.
func begin(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error) {
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return secure, nil
}

// secured is a connection over TLS.
type secured interface {
	ConnectionState() tls.ConnectionState
	NetConn() net.Conn
}
