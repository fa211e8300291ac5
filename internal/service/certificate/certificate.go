// Package certificate makes the certificates of TLS servers of studies.
package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"iter"
	"math/big"
	"net"
	"time"
)

// Certificate is the certificate of a study's TLS server, in PEM. Its authority is created
// for it alone and discarded, so it can sign nothing else.
type Certificate struct {
	CA   []byte // for clients
	Cert []byte // for the server, with Key
	Key  []byte
}

// Names of the files of certificate and key, below the server's folder.
const (
	CertFile = "server.crt"
	KeyFile  = "server.key"
)

// Files are the certificate and the key, by path below the server's folder; none without TLS.
func (c Certificate) Files() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		if c.Cert != nil && yield(CertFile, c.Cert) {
			yield(KeyFile, c.Key)
		}
	}
}

// New creates a certificate for hosts, names or IP addresses, with P-256 keys. It is valid for 31 days from an instant.
func New(from time.Time, hosts []string) (Certificate, error) {
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "plimsoll study"},
		NotBefore: from, NotAfter: from.AddDate(0, 0, 31),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "plimsoll server"},
		NotBefore: from, NotAfter: authority.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else if host != "" {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Certificate{}, fmt.Errorf("create a key: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Certificate{}, fmt.Errorf("create a key: %w", err)
	}
	ca, err := sign(authority, authority, caKey.Public(), caKey)
	if err != nil {
		return Certificate{}, err
	}
	cert, err := sign(leaf, authority, key.Public(), caKey)
	if err != nil {
		return Certificate{}, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Certificate{}, fmt.Errorf("write a key: %w", err)
	}
	return Certificate{CA: ca, Cert: cert, Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})}, nil
}

func sign(c, parent *x509.Certificate, public crypto.PublicKey, by crypto.Signer) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, c, parent, public, by)
	if err != nil {
		return nil, fmt.Errorf("create a certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
