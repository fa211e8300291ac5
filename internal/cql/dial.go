package cql

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// Place is where a server listens, and who one is there. A secret is a reference, as
// Secret reads it.
type Place struct {
	Network, Address string
	User, Secret     string
	CA               []byte // PEM of who vouches for a server with TLS; nil without TLS
	Version          Version

	statements []Statement // to be prepared
}

// Secret reads a password by its reference: env:NAME or file:PATH. An empty reference
// is no password.
func Secret(reference string) (string, error) {
	kind, name, _ := strings.Cut(reference, ":")
	switch {
	case reference == "":
		return "", nil
	case kind == "env" && name != "":
		if v, ok := os.LookupEnv(name); ok {
			return v, nil
		}
		return "", fmt.Errorf("password %s: the variable is not set", reference)
	case kind == "file" && name != "":
		data, err := os.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("password %s: %w", reference, err)
		}
		return strings.TrimRight(string(data), "\r\n"), nil
	}
	return "", errors.New("password: give a reference, env:NAME or file:PATH, not the password itself")
}

// Account is who one is at the place.
func (p Place) Account() (Account, error) {
	secret, err := Secret(p.Secret)
	return Account{p.User, secret}, err
}

// TLS is how to speak TLS with the place; nil where it has none.
func (p Place) TLS() (*tls.Config, error) {
	if len(p.CA) == 0 {
		return nil, nil
	}
	host, _, err := net.SplitHostPort(p.Address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", p.Address, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(p.CA) {
		return nil, errors.New("the certificate authority of the server cannot be read: give it in PEM")
	}
	return &tls.Config{RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS12}, nil
}

// patience is how long a server may take to take a connection.
const patience = 10 * time.Second

// Dial connects to a server and begins a session. Its errors are one line that says
// what the user can do.
func Dial(ctx context.Context, p Place) (*Conn, error) {
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, p.Network, p.Address)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else if Gone(err) {
			err = fmt.Errorf("nothing listens there: start the service, or correct its address: %w", err)
		}
		return nil, fmt.Errorf("connect to the database at %s: %w", p.Address, err)
	}
	c, err := Greet(ctx, conn, p)
	if err != nil {
		return nil, fmt.Errorf("begin a session at %s: %w", p.Address, err)
	}
	return c, nil
}

// Greet begins a session on a connection to a place, which it closes when it fails.
func Greet(ctx context.Context, conn net.Conn, p Place) (*Conn, error) {
	who, err := p.Account()
	config, wrong := p.TLS()
	if err = errors.Join(err, wrong); err == nil && config != nil {
		secure := tls.Client(conn, config)
		if err = secure.HandshakeContext(ctx); err != nil {
			err = fmt.Errorf("agree on TLS: %w", err)
		}
		conn = secure
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	if p.Version == 0 {
		p.Version = V4
	}
	return open(ctx, conn, NewSession(p.Version, who, p.statements, ""))
}

// Gone says whether an error is that nothing listens any more.
func Gone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT)
}
