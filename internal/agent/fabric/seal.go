package fabric

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
)

// errSeal says that a message is not from this session, or was heard before.
var errSeal = errors.New("not a message of this session")

const (
	sessionLength = 8
	headLength    = 1 + sessionLength + 8 // kind, session, number
)

// sessionID names a session. It is chosen by the lab at random.
type sessionID [sessionLength]byte

// sealer seals what one side of a session sends. Messages of a kind are
// numbered from 1.
type sealer struct {
	id   sessionID
	aead cipher.AEAD
	mu   [kinds]sync.Mutex
	sent [kinds]uint64
}

// send seals text and passes it on in the order of the numbers.
func (s *sealer) send(k kind, text []byte, pass func([]byte) error) error {
	s.mu[k].Lock()
	defer s.mu[k].Unlock()
	s.sent[k]++
	out := make([]byte, headLength, headLength+len(text)+s.aead.Overhead())
	out[0] = byte(k)
	copy(out[1:], s.id[:])
	binary.BigEndian.PutUint64(out[1+sessionLength:], s.sent[k])
	return pass(s.aead.Seal(out, nonce(out), text, out))
}

// opener opens what the other side sent.
type opener struct {
	id    sessionID
	aead  cipher.AEAD
	mu    sync.Mutex
	heard [kinds]uint64
}

// open returns what was sealed. A message with a number that is not above all
// that came before it, of its kind, was replayed or overtaken: it is refused.
func (o *opener) open(k kind, data []byte) ([]byte, error) {
	if len(data) < headLength+o.aead.Overhead() || kind(data[0]) != k || sessionID(data[1:1+sessionLength]) != o.id {
		return nil, errSeal
	}
	number := binary.BigEndian.Uint64(data[1+sessionLength:])
	head := data[:headLength]
	text, err := o.aead.Open(nil, nonce(head), data[headLength:], head)
	if err != nil {
		return nil, errSeal
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if number <= o.heard[k] {
		return nil, errSeal
	}
	o.heard[k] = number
	return text, nil
}

// nonce is the kind and the number of a message, which no other message under the
// key has.
func nonce(head []byte) []byte {
	n := make([]byte, 12)
	n[0] = head[0]
	copy(n[4:], head[1+sessionLength:headLength])
	return n
}

// sessionOf is the session that a sealed message says it belongs to.
func sessionOf(data []byte) (sessionID, bool) {
	if len(data) < headLength {
		return sessionID{}, false
	}
	return sessionID(data[1 : 1+sessionLength]), true
}

// secret is what both sides derive their keys from.
type secret struct {
	own        *ecdh.PrivateKey
	peer       []byte // the other side's ephemeral public key
	transcript []byte // what both have signed
	id         sessionID
}

// derive makes the keys of both directions (HKDF, RFC 5869, over X25519, RFC 7748).
func (s secret) derive() (fromAgent, fromLab cipher.AEAD, err error) {
	peer, err := ecdh.X25519().NewPublicKey(s.peer)
	if err != nil {
		return nil, nil, fmt.Errorf("agree on keys: %w", err)
	}
	common, err := s.own.ECDH(peer)
	if err != nil {
		return nil, nil, fmt.Errorf("agree on keys: %w", err)
	}
	salt := sha256.Sum256(s.transcript)
	keys, err := hkdf.Key(sha256.New, common, salt[:], "plimsoll fabric 1", 64)
	if err != nil {
		return nil, nil, fmt.Errorf("agree on keys: %w", err)
	}
	if fromAgent, err = newAEAD(keys[:32]); err != nil {
		return nil, nil, err
	}
	fromLab, err = newAEAD(keys[32:])
	return fromAgent, fromLab, err
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("agree on keys: %w", err)
	}
	return cipher.NewGCM(block)
}
