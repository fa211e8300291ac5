package fabric

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"time"

	"plimsoll/internal/pattern"

	"github.com/nats-io/nkeys"
)

// protocol is negotiated in the TLS handshake, so that its signatures are invalid for other
// protocols.
var protocol = []string{"plimsoll-fabric"}

// place is the server name of a stream in the TLS handshake, so that it cannot be taken for
// another.
func place(session sessionID, stream uint32) string {
	return fmt.Sprintf("%x.%d.plimsoll", session, stream)
}

// client secures a flow from an agent to a lab with the public key, or with any where
// it is empty.
func (k *Key) client(f *flow, session sessionID, lab string) *tls.Conn {
	return tls.Client(f, &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: protocol, Certificates: []tls.Certificate{k.certificate}, ServerName: place(session, f.id),
		InsecureSkipVerify: true, // replaced by the check of the pinned key
		VerifyConnection: func(s tls.ConnectionState) error {
			if got := holder(s); got == "" || lab != "" && got != lab {
				return fmt.Errorf("the lab has another key: %s", got)
			}
			return nil
		},
	})
}

// server secures a flow from a lab to the agent with the public key.
func (k *Key) server(f *flow, session sessionID, agent string) *tls.Conn {
	return tls.Server(f, &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: protocol, Certificates: []tls.Certificate{k.certificate},
		ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: true,
		VerifyConnection: func(s tls.ConnectionState) error {
			switch {
			case s.NegotiatedProtocol != protocol[0]:
				return errors.New("the agent has another version of the protocol")
			case s.ServerName != place(session, f.id):
				return errors.New("a handshake for another stream")
			case holder(s) != agent:
				return fmt.Errorf("the agent has another key: %s", holder(s))
			}
			return nil
		},
	})
}

// holder is the public NKey that the peer has authenticated with, empty for a key of another
// kind.
func holder(s tls.ConnectionState) string {
	if len(s.PeerCertificates) == 0 {
		return ""
	}
	raw, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok {
		return ""
	}
	public, err := nkeys.Encode(nkeys.PrefixByteUser, raw)
	if err != nil {
		return ""
	}
	return string(public)
}

// challenge is the form of texts that are signed for a NATS server. The server chooses the
// text, and the key signs TLS handshakes as well, whose text has spaces.
var challenge = pattern.Of(`^[A-Za-z0-9_-]{1,64}$`)

// answer signs the challenge of a NATS server.
func (k *Key) answer(text []byte) ([]byte, error) {
	if !challenge().Match(text) {
		return nil, errors.New("the NATS server requested a signature of data that is not a challenge")
	}
	return k.pair.Sign(text)
}

// certify makes the TLS certificate of a key. Its names and dates are not read.
func certify(pair nkeys.KeyPair) (tls.Certificate, error) {
	seed, err := pair.Seed()
	if err != nil {
		return tls.Certificate{}, err
	}
	_, raw, err := nkeys.DecodeSeed(seed)
	if err != nil {
		return tls.Certificate{}, err
	}
	key := ed25519.NewKeyFromSeed(raw)
	clear(raw)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)}
	text, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{text}, PrivateKey: key}, err
}
