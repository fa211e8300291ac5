package postgres

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"strconv"
	"strings"

	"plimsoll/internal/wire"
)

// scram is the client of SCRAM-SHA-256 (RFC 5802, RFC 7677), with or without channel binding.
// PostgreSQL takes the user from the startup message.
type scram struct {
	password, nonce string
	header          string // gs2-header
	binding         []byte // channel binding data; empty without
	user            string
	signature       []byte // expected server signature
	proven          bool
}

// mostIterations bounds the iteration count that a server can request.
const mostIterations = 1_000_000

// The gs2-header (RFC 5802).
const (
	unbound     = "n,," // client does not support channel binding
	notOffered  = "y,," // client supports it, server does not offer it
	endPoint    = "p=tls-server-end-point,,"
	mechanism   = "SCRAM-SHA-256"
	boundByPlus = mechanism + "-PLUS"
)

func newSCRAM(password, nonce string) *scram {
	return &scram{password: password, nonce: nonce, header: unbound}
}

// bind selects channel binding if the server offers it. The offered mechanisms are
// zero-terminated. It returns the mechanism to use.
func (s *scram) bind(offered string, binding []byte) string {
	switch {
	case len(binding) == 0:
	case strings.Contains("\x00"+offered, "\x00"+boundByPlus+"\x00"):
		s.header, s.binding = endPoint, binding
		return boundByPlus
	default:
		s.header = notOffered
	}
	return mechanism
}

// binding is the channel binding data of a TLS connection, from the server's certificate
// (tls-server-end-point, RFC 5929); nil if there is none.
func binding(conn net.Conn) []byte {
	s, ok := conn.(wire.Secured)
	if !ok || len(s.ConnectionState().PeerCertificates) == 0 {
		return nil
	}
	c := s.ConnectionState().PeerCertificates[0]
	switch c.SignatureAlgorithm {
	case x509.MD5WithRSA, x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.SHA256WithRSA, x509.SHA256WithRSAPSS, x509.ECDSAWithSHA256:
		sum := sha256.Sum256(c.Raw)
		return sum[:]
	case x509.SHA384WithRSA, x509.SHA384WithRSAPSS, x509.ECDSAWithSHA384:
		sum := sha512.Sum384(c.Raw)
		return sum[:]
	case x509.SHA512WithRSA, x509.SHA512WithRSAPSS, x509.ECDSAWithSHA512:
		sum := sha512.Sum512(c.Raw)
		return sum[:]
	}
	return nil
}

func (s *scram) bare() string { return "n=" + s.user + ",r=" + s.nonce }

func (s *scram) first() string { return s.header + s.bare() }

// last returns the client-final-message for the server's challenge.
func (s *scram) last(challenge string) (string, error) {
	bad := fmt.Errorf("malformed SCRAM challenge: %q", challenge)
	parts := strings.Split(challenge, ",")
	if len(parts) < 3 || !strings.HasPrefix(parts[0], "r="+s.nonce) || len(parts[0]) == len("r="+s.nonce) ||
		!strings.HasPrefix(parts[1], "s=") || !strings.HasPrefix(parts[2], "i=") {
		return "", bad
	}
	salt, err := base64.StdEncoding.DecodeString(parts[1][2:])
	if err != nil {
		return "", bad
	}
	iterations, err := strconv.Atoi(parts[2][2:])
	if err != nil || iterations < 1 || iterations > mostIterations {
		return "", bad
	}
	salted, err := pbkdf2.Key(sha256.New, s.password, salt, iterations, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("derive a key from the password: %w", err)
	}
	without := "c=" + base64.StdEncoding.EncodeToString(append([]byte(s.header), s.binding...)) + "," + parts[0]
	all := s.bare() + "," + challenge + "," + without
	key := sum(salted, "Client Key")
	stored := sha256.Sum256(key)
	proof := sum(stored[:], all)
	for i := range proof {
		proof[i] ^= key[i]
	}
	s.signature = sum(sum(salted, "Server Key"), all)
	return without + ",p=" + base64.StdEncoding.EncodeToString(proof), nil
}

// verify checks the server signature.
func (s *scram) verify(final string) error {
	if why, refused := strings.CutPrefix(final, "e="); refused {
		return fmt.Errorf("the server rejected the password: %s", why)
	}
	v, found := strings.CutPrefix(final, "v=")
	signature, err := base64.StdEncoding.DecodeString(v)
	if !found || err != nil || s.signature == nil || !hmac.Equal(signature, s.signature) {
		return fmt.Errorf("the server failed SCRAM verification: it does not know the password")
	}
	s.proven = true
	return nil
}

func sum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text)) // it never fails
	return h.Sum(nil)
}
