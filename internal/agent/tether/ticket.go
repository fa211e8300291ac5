// Package tether connects guests without a port to the lab. A guest dials the lab with a
// ticket; both sides use TLS 1.3 and authenticate by their keys, which are made for one run.
package tether

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"time"

	"plimsoll/internal/charset"
)

// Ticket is a guest's configuration to reach the lab. It has the guest's secret key.
type Ticket struct {
	Name    string `json:"name"`              // of the guest
	Lab     string `json:"lab"`               // IP address and port
	LabKey  string `json:"lab_key"`           // SHA-256 of the lab's public key, in hexadecimal
	Key     []byte `json:"key"`               // seed of the guest's Ed25519 key
	Address string `json:"address,omitempty"` // of the guest, with prefix length; empty for DHCP
	Gateway string `json:"gateway,omitempty"`
}

// File is the name of a ticket's file on the CD of a guest.
const File = "PLIMSOLL.TKT"

// Format is the JSON text of the ticket.
func (t Ticket) Format() ([]byte, error) { return json.Marshal(t) }

// Parse reads a ticket.
func Parse(text []byte) (t Ticket, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return t, fmt.Errorf("read the ticket: %w", err)
	}
	if d.More() {
		return t, errors.New("read the ticket: trailing data")
	}
	return t, t.check()
}

func (t Ticket) check() error {
	if !charset.Name(t.Name, ".-", 63) {
		return fmt.Errorf("read the ticket: %q is not a host name", t.Name)
	}
	if at, err := netip.ParseAddrPort(t.Lab); err != nil || at.Port() == 0 {
		return fmt.Errorf("read the ticket: %q is not an IP address with a port", t.Lab)
	}
	if sum, err := hex.DecodeString(t.LabKey); err != nil || len(sum) != sha256.Size {
		return errors.New("read the ticket: the lab's key is not 32 bytes in hexadecimal")
	}
	if len(t.Key) != ed25519.SeedSize {
		return fmt.Errorf("read the ticket: the guest's key has %d bytes instead of %d", len(t.Key), ed25519.SeedSize)
	}
	if _, err := netip.ParsePrefix(t.Address); err != nil && t.Address != "" {
		return fmt.Errorf("read the ticket: %q is not an address with a prefix length", t.Address)
	}
	if _, err := netip.ParseAddr(t.Gateway); err != nil && t.Gateway != "" {
		return fmt.Errorf("read the ticket: %q is not the address of a gateway", t.Gateway)
	}
	return nil
}

// identity is a self-signed certificate of a key.
func identity(seed []byte) (tls.Certificate, error) {
	key := ed25519.NewKeyFromSeed(seed)
	form := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0)}
	raw, err := x509.CreateCertificate(rand.Reader, form, form, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("create a certificate: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, nil
}

// fingerprint is that of a public key, in the form of tickets.
func fingerprint(key any) (string, error) {
	public, ok := key.(ed25519.PublicKey)
	if !ok {
		return "", errors.New("the peer has no Ed25519 key")
	}
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:]), nil
}

// verified refuses connections whose peer has none of the expected keys.
func verified(expected func(print string) error) func(tls.ConnectionState) error {
	return func(c tls.ConnectionState) error {
		if len(c.PeerCertificates) != 1 {
			return errors.New("the peer has not exactly one certificate")
		}
		print, err := fingerprint(c.PeerCertificates[0].PublicKey)
		if err != nil {
			return err
		}
		return expected(print)
	}
}
