package hub

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	authorityLife = 10 * 365 * 24 * time.Hour
	serverLife    = 30 * 24 * time.Hour // a new one is made at each start
	authorityFile = "authority.pem"
)

// certificates makes the server's certificate, signed by the lab's authority,
// which is kept in a folder and made there first where it is missing.
func certificates(folder, host string) (*tls.Config, string, error) {
	if folder == "" {
		return nil, "", errors.New("a lab that is not on loopback requires a folder for its certificate authority")
	}
	ca, key, err := authority(filepath.Join(folder, authorityFile))
	if err != nil {
		return nil, "", fmt.Errorf("the lab's certificate authority: %w", err)
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "", fmt.Errorf("create the lab's certificate: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "plimsoll lab"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(serverLife), // clocks of machines differ
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else if host != "" {
		template.DNSNames = []string{host}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, ca, own.Public(), key)
	if err != nil {
		return nil, "", fmt.Errorf("create the lab's certificate: %w", err)
	}
	sum := sha256.Sum256(ca.Raw)
	return &tls.Config{
		MinVersion:   tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{raw, ca.Raw}, PrivateKey: own}},
	}, "sha256:" + hex.EncodeToString(sum[:]), nil
}

func serial() *big.Int {
	raw := make([]byte, 16)
	_, _ = rand.Read(raw) // never fails
	return new(big.Int).SetBytes(raw)
}

// authority reads the authority's certificate and key from one file, or makes
// them.
func authority(name string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if text, err = newAuthority(); err == nil {
			err = writeSecret(name, text)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	first, rest := pem.Decode(text)
	second, _ := pem.Decode(rest)
	if first == nil || second == nil {
		return nil, nil, fmt.Errorf("%s does not contain a certificate and a key: remove it to create a new one, and give its fingerprint to agents", name)
	}
	certificate, err := x509.ParseCertificate(first.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", name, err)
	}
	if time.Now().After(certificate.NotAfter) {
		return nil, nil, fmt.Errorf("the certificate authority in %s expired on %s: remove it to create a new one, and give its fingerprint to agents", name, certificate.NotAfter.Format(time.DateOnly))
	}
	key, err := x509.ParseECPrivateKey(second.Bytes)
	if err != nil {
		return nil, nil, fmt.Errorf("%s contains no key of a certificate authority", name)
	}
	return certificate, key, nil
}

func newAuthority() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial(), Subject: pkix.Name{CommonName: "plimsoll lab authority"},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})...), nil
}

func writeSecret(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}
