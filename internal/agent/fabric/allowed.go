package fabric

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ReadAllowed reads a list of public keys, one per line; text after a key and lines that begin
// with # are comments.
func ReadAllowed(name string) ([]string, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of agents: %w", err)
	}
	var keys []string
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if !IsPublic(fields[0]) {
			return nil, fmt.Errorf("%s:%d: %s", name, number, notPublic(fields[0]))
		}
		keys = append(keys, fields[0])
	}
	return keys, nil
}

// notPublic does not quote the whole word, which may be a secret key.
func notPublic(word string) string {
	return fmt.Sprintf("%q... is not the public key of an agent, which has 56 letters and digits and begins with U", word[:min(len(word), 4)])
}

// Allow appends a public key to a list, with a comment.
func Allow(name, key string, remark ...string) error {
	if !IsPublic(key) {
		return errors.New(notPublic(key))
	}
	keys, err := ReadAllowed(name)
	if err != nil || slices.Contains(keys, key) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("allow an agent: %w", err)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("allow an agent: %w", err)
	}
	line := strings.Join(strings.Fields(key+" "+strings.Join(remark, " ")), " ") + "\n"
	_, err = f.WriteString(line)
	return errors.Join(err, f.Sync(), f.Close())
}
