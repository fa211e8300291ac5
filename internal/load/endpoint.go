package load

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
)

// Endpoint is where a service listens.
type Endpoint struct {
	Network string `json:"network"` // tcp, udp or unix
	Address string `json:"address"` // host:port, or the path of a socket
	// More are the addresses of further instances of the service, which hold the
	// same and each get as much load.
	More []string `json:"more,omitempty"`
	// Private is of a server that plimsoll started: one that dies is not started again.
	Private bool `json:"private,omitempty"`
	// TLS says that it speaks TLS; so does one with a CA, which is the PEM of the authority of
	// its certificate. Without one those do whom the machine of the client trusts.
	TLS bool   `json:"tls,omitempty"`
	CA  []byte `json:"ca,omitempty"`
	// Unverified disables verification of the server's certificate.
	Unverified bool `json:"unverified,omitempty"`
	// Thumbprint is the SHA-256 hash of the server's certificate, in hexadecimal. Where it is
	// given the certificate needs no authority.
	Thumbprint string `json:"thumbprint,omitempty"`
	// Authority is a file with the CA, for clients that read it themselves.
	Authority string `json:"authority,omitempty"`
	// User, Database and Secret are for a service that asks who one is. A secret is a
	// reference, env:NAME or file:PATH, never the password itself.
	User     string `json:"user,omitempty"`
	Database string `json:"database,omitempty"`
	Secret   string `json:"secret,omitempty"`
	// URL is the address of a live cluster, which has all that is needed to reach it.
	URL string `json:"url,omitempty"`
}

// Secure is how to speak TLS with the endpoint's Address, whose certificate must have its
// name; nil where it does not speak TLS.
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
