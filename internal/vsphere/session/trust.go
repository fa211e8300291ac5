package session

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"plimsoll/internal/live"
)

// trust is the verification of the vCenter's certificate: by the system's authorities, by
// those of a file, or by its SHA-256 thumbprint.
func trust(at live.Address) (*tls.Config, error) {
	file, print := at.Parameters["ca"], at.Parameters["thumbprint"]
	if file != "" && print != "" {
		return nil, errors.New("the address has both ca and thumbprint: remove one")
	}
	if file != "" {
		return trustFile(file)
	}
	if print == "" {
		return &tls.Config{}, nil
	}
	want, err := ParseThumbprint(print)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection: func(c tls.ConnectionState) error {
			if sha256.Sum256(c.PeerCertificates[0].Raw) != want {
				return &Refused{fmt.Sprintf("the vCenter's certificate has the SHA-256 thumbprint %s, which differs from the address: do not connect before you know why", thumbprint(c.PeerCertificates[0]))}
			}
			return nil
		},
	}, nil
}

func trustFile(file string) (*tls.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the authorities of the parameter ca: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s, given as ca, contains no certificate in PEM format", file)
	}
	return &tls.Config{RootCAs: pool}, nil
}

// ParseThumbprint parses the SHA-256 thumbprint of a certificate, with or without colons.
func ParseThumbprint(text string) (print [sha256.Size]byte, err error) {
	raw, err := hex.DecodeString(strings.ReplaceAll(text, ":", ""))
	if err != nil || len(raw) != len(print) {
		return print, fmt.Errorf("thumbprint %q is not a SHA-256 thumbprint: 32 bytes in hexadecimal, separated by colons or not", text)
	}
	copy(print[:], raw)
	return print, nil
}

// thumbprint is the SHA-256 thumbprint of a certificate, in the form of addresses.
func thumbprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	parts := make([]string, len(sum))
	for i, b := range sum {
		parts[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(parts, ":")
}
