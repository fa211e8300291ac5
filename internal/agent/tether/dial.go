package tether

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

const (
	// handshakeTime is the time limit of a connection's handshake.
	handshakeTime = 20 * time.Second
	// alive is the interval of keep-alive packets, which keep an idle connection in firewalls'
	// tables.
	alive = 15 * time.Second
)

// Dial connects a guest to its lab.
func Dial(ctx context.Context, t Ticket) (net.Conn, error) {
	own, err := identity(t.Key)
	if err != nil {
		return nil, err
	}
	d := tls.Dialer{
		NetDialer: &net.Dialer{Timeout: handshakeTime, KeepAlive: alive},
		Config: &tls.Config{
			Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS13,
			InsecureSkipVerify: true, // VerifyConnection does it
			VerifyConnection: verified(func(print string) error {
				if print != t.LabKey {
					return errors.New("the lab has another key than the ticket says")
				}
				return nil
			}),
		},
	}
	ctx, cancel := context.WithTimeout(ctx, 2*handshakeTime)
	defer cancel()
	conn, err := d.DialContext(ctx, "tcp", t.Lab)
	if err != nil {
		return nil, fmt.Errorf("connect to the lab at %s: %w", t.Lab, err)
	}
	return conn, nil
}
