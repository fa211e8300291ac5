package clustercmd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"plimsoll/cmd/plimsoll/cli"

	"plimsoll/internal/cluster/doctor"
)

// ledgerFile is the file that --ledger names, empty for none.
type ledgerFile string

// read reads the ledger, which is empty without a file. It refuses a file that cannot be appended to.
func (f ledgerFile) read() (*doctor.Ledger, error) {
	if f == "" {
		return &doctor.Ledger{}, nil
	}
	name := string(f)
	text, err := os.ReadFile(name)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, cli.Mistake(fmt.Errorf("read the ledger: %w", err))
	}
	if err := writable(name, missing); err != nil {
		return nil, cli.Mistake(fmt.Errorf("the ledger %s cannot be written: %w", name, err))
	}
	l, err := doctor.ReadLedger(name, text)
	if err != nil {
		return nil, cli.Mistake(err)
	}
	return l, nil
}

// writable checks that a file can be appended to, or made. It changes nothing.
func writable(name string, missing bool) error {
	if missing {
		const writing = 2 // of access(2)
		return syscall.Access(filepath.Dir(name), writing)
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return errors.Unwrap(err) // without the name
	}
	return f.Close()
}

// enter appends a round; nil is none.
func (f ledgerFile) enter(l *doctor.Ledger, round *doctor.Round) error {
	if round == nil {
		return nil
	}
	line, err := l.Line(round)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(string(f), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("append to the ledger: %w", err)
	}
	_, err = file.Write(line)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("append to the ledger %s: %w", f, err)
	}
	return nil
}
