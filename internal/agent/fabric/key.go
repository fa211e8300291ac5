package fabric

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nkeys"
)

// Key is the long-lived key pair of an agent or of a lab: an NKey of the kind
// "user". The seed stays in its file and in memory.
type Key struct {
	pair        nkeys.KeyPair
	public      string
	certificate tls.Certificate
}

// NewKey makes a key.
func NewKey() (*Key, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("create a key: %w", err)
	}
	return ofPair(pair)
}

func ofPair(pair nkeys.KeyPair) (*Key, error) {
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("read the public key: %w", err)
	}
	certificate, err := certify(pair)
	if err != nil {
		return nil, fmt.Errorf("create the certificate of a key: %w", err)
	}
	return &Key{pair: pair, public: public, certificate: certificate}, nil
}

// ReadKey reads a key from its file. A file that others can read is refused.
func ReadKey(name string) (*Key, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("read key: %w; create one with plimsoll agent key %s", err, name)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("key %s is readable by others (mode %04o): chmod 600 it, or create a new one", name, info.Mode().Perm())
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	pair, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(text))))
	clear(text)
	if err != nil {
		return nil, fmt.Errorf("key %s contains no NKey seed", name) // the cause might quote the seed
	}
	k, err := ofPair(pair)
	if err == nil && !IsPublic(k.public) {
		err = fmt.Errorf("key %s is not a user NKey", name)
	}
	return k, err
}

// Write writes the key to a new file that its owner alone can read.
func (k *Key) Write(name string) error {
	seed, err := k.pair.Seed()
	if err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	_, err = f.Write(append(seed, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// KeepKey reads the key in a file, and makes it if there is none.
func KeepKey(name string) (*Key, error) {
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return ReadKey(name)
	}
	k, err := NewKey()
	if err != nil {
		return nil, err
	}
	return k, k.Write(name)
}

// Public is the public half, which identifies the key to the peer.
func (k *Key) Public() string { return k.public }

// IsPublic reports whether text is the public half of a key.
func IsPublic(text string) bool { return nkeys.IsValidPublicUserKey(text) }
