package service

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
)

// A client that trusts only the authority trusts the server, by address and by name.
func TestCertificatesAreTrusted(t *testing.T) {
	c, err := NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(c.Cert, c.Key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.CA)
	for name, trusted := range map[string]bool{"127.0.0.1": true, "localhost": true, "elsewhere": false} {
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: name}); (err == nil) != trusted {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: x509.NewCertPool(), DNSName: "localhost"}); err == nil {
		t.Error("it is trusted by who does not know the authority")
	}
}
