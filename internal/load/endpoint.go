package load

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
)

// Endpoint is the address of a service.
type Endpoint struct {
	Network string `json:"network"` // tcp, udp, unix or ceph
	Address string `json:"address"` // host:port, the path of a socket, or that of a ceph.conf
	// More are the addresses of further identical instances, which get the same load each.
	More []string `json:"more,omitempty"`
	// Private marks a server that plimsoll started: it is not restarted after a crash.
	Private bool `json:"private,omitempty"`
	// TLS enables TLS; so does a CA certificate in PEM. Without a CA, the client machine's
	// trust store is used.
	TLS bool   `json:"tls,omitempty"`
	CA  []byte `json:"ca,omitempty"`
	// Unverified disables verification of the server's certificate.
	Unverified bool `json:"unverified,omitempty"`
	// Thumbprint is the SHA-256 hash of the server's certificate, in hexadecimal, which
	// replaces verification by a CA.
	Thumbprint string `json:"thumbprint,omitempty"`
	// Authority is a file with the CA certificate, for clients that read it themselves.
	Authority string `json:"authority,omitempty"`
	// User, Database and Secret are the credentials. A secret is a reference, env:NAME or
	// file:PATH, never the password itself.
	User     string `json:"user,omitempty"`
	Database string `json:"database,omitempty"`
	Secret   string `json:"secret,omitempty"`
	// Config is what the file at Address says, for clients on machines that do not have it.
	Config []byte `json:"config,omitempty"`
	// Capacity is how much data the service can hold, in bytes; 0 is unknown.
	Capacity int64 `json:"capacity,omitempty"`
	// URL is the complete address of a live cluster, or that of a service's web interface.
	URL string `json:"url,omitempty"`
	// Dial connects to a service that this process reaches through another machine; nil where it connects by itself.
	Dial func(ctx context.Context, network, address string) (net.Conn, error) `json:"-"`
}

// Secure is the TLS configuration for the endpoint's Address, whose name the certificate must
// have; nil without TLS.
func (e Endpoint) Secure() (*tls.Config, error) {
	if !e.TLS && len(e.CA) == 0 {
		return nil, nil
	}
	if e.Network != "tcp" {
		return nil, fmt.Errorf("TLS requires host:port, not %s", e.Address)
	}
	host, _, err := net.SplitHostPort(e.Address)
	if err != nil {
		return nil, fmt.Errorf("address %q: %w", e.Address, err)
	}
	c := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: e.Unverified}
	if len(e.CA) > 0 {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(e.CA) {
			return nil, errors.New("the CA certificate of the server cannot be parsed: it must be in PEM format")
		}
	}
	return c, nil
}
