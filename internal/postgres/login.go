package postgres

import (
	"crypto/md5"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"plimsoll/internal/wire"
)

// login is the startup phase of a session.
type login struct {
	account wire.Account
	nonce   string
	binding []byte // channel binding; nil for none
	scram   *scram
}

// newLogin begins a session for an account.
func newLogin(a wire.Account) *login { return &login{account: a} }

// AppendStart appends the startup message.
func (l *login) AppendStart(b []byte) []byte { return appendStartup(b, l.account) }

// Authentication requests, by the first four bytes.
const (
	authOK        = 0
	authClear     = 3
	authMD5       = 5
	authSASL      = 10
	authSASLNext  = 11
	authSASLFinal = 12
)

// Hear handles a message of the startup, and appends the response. Done reports whether the
// session is ready.
func (l *login) Hear(b []byte, m Message) (answer []byte, done bool, err error) {
	switch m.Kind {
	case Authentication:
		answer, err = l.prove(b, m.Body)
		return answer, false, err
	case Failure:
		return b, false, fmt.Errorf("the server refused %s: %w", l.account.User, ReadFault(m.Body))
	case Ready:
		return b, true, nil
	}
	return b, false, nil
}

func (l *login) prove(b, body []byte) ([]byte, error) {
	if len(body) < 4 {
		return b, fmt.Errorf("truncated authentication request")
	}
	demand, rest := binary.BigEndian.Uint32(body), body[4:]
	if l.account.Password == "" && demand != authOK && demand != authSASLFinal {
		return b, fmt.Errorf("the server requires a password for %s: set password by reference, as env:NAME or file:PATH", l.account.User)
	}
	switch demand {
	case authOK:
		if l.scram != nil && !l.scram.proven {
			return b, fmt.Errorf("the server failed SCRAM verification: it does not know the password")
		}
		return b, nil
	case authClear:
		return appendPassword(b, append([]byte(l.account.Password), 0)), nil
	case authMD5:
		if len(rest) != 4 {
			return b, fmt.Errorf("truncated authentication request")
		}
		return appendPassword(b, append([]byte(hashed(l.account, rest)), 0)), nil
	case authSASL, authSASLNext, authSASLFinal:
		return l.proveSCRAM(b, demand, rest)
	}
	return b, fmt.Errorf("unsupported authentication method %d: allow scram-sha-256, md5 or trust for %s in its pg_hba.conf", demand, l.account.User)
}

func appendPassword(b, proof []byte) []byte {
	b, at := begin(b, 'p')
	return end(append(b, proof...), at)
}

// hashed is md5(md5(password + user) + salt), each in hexadecimal.
func hashed(a wire.Account, salt []byte) string {
	inner := md5.Sum([]byte(a.Password + a.User))
	outer := md5.Sum(append([]byte(hex.EncodeToString(inner[:])), salt...))
	return "md5" + hex.EncodeToString(outer[:])
}

func (l *login) proveSCRAM(b []byte, demand uint32, rest []byte) ([]byte, error) {
	switch demand {
	case authSASL:
		if !strings.Contains("\x00"+string(rest), "\x00"+mechanism+"\x00") {
			return b, fmt.Errorf("the server does not support %s: it offers %q", mechanism, rest)
		}
		if l.nonce == "" {
			var random [18]byte
			_, _ = rand.Read(random[:]) // it never fails
			l.nonce = base64.StdEncoding.EncodeToString(random[:])
		}
		l.scram = newSCRAM(l.account.Password, l.nonce)
		by := l.scram.bind(string(rest), l.binding)
		first := l.scram.first()
		b, at := begin(b, 'p')
		b = text(b, by)
		b = binary.BigEndian.AppendUint32(b, uint32(len(first)))
		return end(append(b, first...), at), nil
	case authSASLNext:
		if l.scram == nil {
			return b, fmt.Errorf("unexpected SASL continuation")
		}
		last, err := l.scram.last(string(rest))
		if err != nil {
			return b, err
		}
		return appendPassword(b, []byte(last)), nil
	}
	if l.scram == nil {
		return b, fmt.Errorf("unexpected end of SASL authentication")
	}
	return b, l.scram.verify(string(rest))
}
