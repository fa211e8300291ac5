package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Secured is a connection over TLS.
type Secured interface {
	net.Conn
	ConnectionState() tls.ConnectionState
	NetConn() net.Conn // below TLS
}

// cut closes a connection without close_notify, which would wait for the peer.
func cut(conn net.Conn) {
	if s, ok := conn.(Secured); ok {
		conn = s.NetConn()
	}
	_ = conn.Close()
}

// Plainly does something on a connection before TLS begins, that ends with the context.
func Plainly(ctx context.Context, conn net.Conn, do func() error) error {
	_, err := during(ctx, conn, do)
	return err
}

// Handshake agrees on TLS over a connection whose two ends are ready for it. Its errors
// say what is wrong with the server's certificate, in one line.
func Handshake(ctx context.Context, conn net.Conn, config *tls.Config) (*tls.Conn, error) {
	secure := tls.Client(conn, config)
	err := secure.HandshakeContext(ctx)
	if err == nil {
		return secure, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, fmt.Errorf("TLS handshake: %w", explained(err, config.RootCAs != nil))
}

// leave is the last thing that a user can do about a certificate.
const leave = "or set tls_verify to false"

func explained(err error, named bool) error {
	var stranger x509.UnknownAuthorityError
	var other x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &stranger) && named:
		return fmt.Errorf("the certificate of the server is not signed by the CA in ca: give the right one, %s", leave)
	case errors.As(err, &stranger):
		return fmt.Errorf("the certificate of the server is signed by an unknown authority: specify the file of its CA in ca, %s", leave)
	case errors.As(err, &other):
		return fmt.Errorf("the certificate of the server is for %s, not for %s: use that name in address, %s", names(other.Certificate), other.Host, leave)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Errorf("the certificate of the server is valid from %s to %s only: renew it, %s",
			invalid.Cert.NotBefore.UTC().Format(time.DateTime), invalid.Cert.NotAfter.UTC().Format(time.DateTime), leave)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the server closed the connection; see its log: %w", err)
	}
	return err
}

// names are those that a certificate is for.
func names(c *x509.Certificate) string {
	list := c.DNSNames
	for _, ip := range c.IPAddresses {
		list = append(list, ip.String())
	}
	if len(list) == 0 {
		return "no name"
	}
	return strings.Join(list, ", ")
}
