package postgres

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// scram is the client's side of SCRAM-SHA-256 (RFC 5802, RFC 7677), without channel
// binding. PostgreSQL takes the user from the start of the session.
type scram struct {
	password, nonce string
	user            string
	signature       []byte // that the server must send
	proven          bool
}

// mostIterations bounds what a server can make a client compute.
const mostIterations = 1_000_000

func newSCRAM(password, nonce string) *scram { return &scram{password: password, nonce: nonce} }

func (s *scram) bare() string { return "n=" + s.user + ",r=" + s.nonce }

func (s *scram) first() string { return "n,," + s.bare() }

// last answers the challenge of the server.
func (s *scram) last(challenge string) (string, error) {
	bad := fmt.Errorf("the server sends a challenge that is none: %q", challenge)
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
	without := "c=biws," + parts[0]
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

// verify looks that the server knows the password as well.
func (s *scram) verify(final string) error {
	if why, refused := strings.CutPrefix(final, "e="); refused {
		return fmt.Errorf("the server refuses the password: %s", why)
	}
	v, found := strings.CutPrefix(final, "v=")
	signature, err := base64.StdEncoding.DecodeString(v)
	if !found || err != nil || s.signature == nil || !hmac.Equal(signature, s.signature) {
		return fmt.Errorf("the server did not prove that it knows the password")
	}
	s.proven = true
	return nil
}

func sum(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write([]byte(text)) // it never fails
	return h.Sum(nil)
}
