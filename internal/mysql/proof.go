package mysql

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// The authentication plugins.
const (
	native  = "mysql_native_password"
	caching = "caching_sha2_password"
)

// The server's response to the first authentication data.
const (
	askOther = 0xfe // switch to another plugin
	askMore  = 0x01 // more data of this plugin

	cached     = 3 // the password is in the server's cache
	notCached  = 4 // the server needs the password itself
	wantKey    = 2 // request for the public key
	mostKeyLen = 1 << 13
)

// proof is the authentication data of a plugin; empty without a password, and nil for an
// unsupported plugin.
func proof(plugin, password string, salt []byte) []byte {
	switch {
	case plugin != native && plugin != caching:
		return nil
	case password == "":
		return []byte{}
	case plugin == native:
		// SHA1(password) XOR SHA1(salt + SHA1(SHA1(password)))
		once := sha1.Sum([]byte(password))
		twice := sha1.Sum(once[:])
		mask := sha1.Sum(append(bytes.Clone(salt), twice[:]...))
		return xor(once[:], mask[:])
	}
	// SHA256(password) XOR SHA256(SHA256(SHA256(password)) + salt)
	once := sha256.Sum256([]byte(password))
	twice := sha256.Sum256(once[:])
	mask := sha256.Sum256(append(twice[:], salt...))
	return xor(once[:], mask[:])
}

func xor(a, mask []byte) []byte {
	for i := range a {
		a[i] ^= mask[i%len(mask)]
	}
	return a
}

// prove handles a further authentication request of the server.
func (l *login) prove(b []byte, p Packet) ([]byte, error) {
	switch body := p.Body[1:]; p.Body[0] {
	case askOther:
		plugin, salt, found := bytes.Cut(body, []byte{0})
		if !found {
			return b, errors.New("truncated authentication request")
		}
		l.greeting.plugin, l.greeting.salt = string(plugin), bytes.TrimSuffix(bytes.Clone(salt), []byte{0})
		answer := proof(l.greeting.plugin, l.account.Password, l.greeting.salt)
		if answer == nil {
			return b, fmt.Errorf("unsupported authentication plugin %s: identify %s by %s or %s", plugin, l.account.User, native, caching)
		}
		return packed(b, p.Number+1, answer), nil
	case askMore:
		if l.greeting.plugin != caching || len(body) == 0 {
			break
		}
		switch {
		case body[0] == cached && len(body) == 1:
			return b, nil // an OK follows
		case body[0] == notCached && len(body) == 1 && l.secure:
			return packed(b, p.Number+1, append([]byte(l.account.Password), 0)), nil
		case body[0] == notCached && len(body) == 1:
			return packed(b, p.Number+1, []byte{wantKey}), nil
		}
		answer, err := enciphered(body, l.account.Password, l.greeting.salt)
		if err != nil {
			return b, err
		}
		return packed(b, p.Number+1, answer), nil
	}
	return b, fmt.Errorf("unexpected packet %q while %s logs in", p.Body[:min(len(p.Body), 40)], l.account.User)
}

func packed(b []byte, number byte, body []byte) []byte {
	b, at := begin(b, number)
	return end(append(b, body...), at)
}

// enciphered is the password encrypted with the server's RSA key and the salt, which prevents
// a replay.
func enciphered(key []byte, password string, salt []byte) ([]byte, error) {
	block, _ := pem.Decode(key[:min(len(key), mostKeyLen)])
	if block == nil || len(salt) == 0 {
		return nil, errors.New("malformed public key from the server")
	}
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parse the public key of the server: %w", err)
	}
	k, ok := public.(*rsa.PublicKey)
	if !ok {
		return nil, errors.New("the public key of the server is not RSA")
	}
	answer, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, k, xor(append([]byte(password), 0), salt), nil)
	if err != nil {
		return nil, fmt.Errorf("encrypt the password: %w", err)
	}
	return answer, nil
}
