package vcenter

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
)

// secret is the password of the simulators that this process starts, in a file without a name. Children of this process
// can read it, and it is gone when the process ends.
var secret = sync.OnceValues(func() (*passwordFile, error) {
	f, err := os.CreateTemp("", "plimsoll-password-")
	if err != nil {
		return nil, fmt.Errorf("keep the password of the simulator: %w", err)
	}
	p := &passwordFile{text: rand.Text(), file: f}
	_, err = f.WriteString(p.text)
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return nil, fmt.Errorf("keep the password of the simulator: %w", errors.Join(err, f.Close()))
	}
	return p, nil
})

type passwordFile struct {
	text string
	file *os.File
}

// reference is the source of the password for clients of this host.
func (p *passwordFile) reference() string {
	return fmt.Sprintf("file:/proc/%d/fd/%d", os.Getpid(), p.file.Fd())
}
