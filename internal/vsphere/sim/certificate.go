package sim

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"strings"
	"time"
)

// valid is the validity of a certificate.
const valid = 30 * 24 * time.Hour

// certificate creates a self-signed certificate for the host of an address.
func certificate(address string) (tls.Certificate, Thumbprints, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return tls.Certificate{}, Thumbprints{}, fmt.Errorf("the address to listen on: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, Thumbprints{}, fmt.Errorf("make the key of the certificate: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, Thumbprints{}, fmt.Errorf("make the certificate: %w", err)
	}
	now := time.Now()
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "plimsoll vcenter", Organization: []string{"plimsoll"}},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(valid), BasicConstraintsValid: true, IsCA: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if ip := net.ParseIP(host); ip != nil {
		c.IPAddresses = append(c.IPAddresses, ip)
	} else if host != "" {
		c.DNSNames = append(c.DNSNames, host)
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, Thumbprints{}, fmt.Errorf("make the certificate: %w", err)
	}
	short, long := sha1.Sum(der), sha256.Sum256(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, Thumbprints{SHA1: colons(short[:]), SHA256: colons(long[:])}, nil
}

// colons is a thumbprint in vSphere's notation.
func colons(sum []byte) string {
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}
