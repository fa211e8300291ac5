package memcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"plimsoll/internal/platform"
)

// Carrier is a machine with a copy of plimsoll.
type Carrier interface {
	platform.Machine
	platform.Carrier
}

// Watch is a memory check in a VM.
type Watch struct {
	stop  chan struct{}
	ended chan error
	out   *io.PipeReader
}

// Begin starts a memory check of a given number of bytes, and returns when its memory is
// allocated.
func Begin(ctx context.Context, m Carrier, size int64) (*Watch, error) {
	self, err := m.Self(ctx)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(order{Bytes: size, Seed: uint64(time.Now().UnixNano())})
	if err != nil {
		return nil, err
	}
	out, in := io.Pipe()
	w := &Watch{stop: make(chan struct{}), ended: make(chan error, 1), out: out}
	go func() {
		r, err := m.Run(ctx, platform.Command{Argv: []string{self, Command}, Stdin: bytes.NewReader(text), Stdout: in, Stop: w.stop})
		if err == nil && r.Exit != 0 {
			err = errors.New(strings.TrimSpace(string(r.Stderr)))
		}
		_ = in.CloseWithError(io.EOF) // always nil
		w.ended <- err
	}()
	if _, err := w.word(); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *Watch) word() (answer Word, err error) {
	// One byte at a time, so that nothing of the next word is consumed.
	var line []byte
	for b := make([]byte, 1); b[0] != '\n'; {
		if _, err := w.out.Read(b); err != nil {
			return answer, fmt.Errorf("read from the memory check: %w", err)
		}
		line = append(line, b[0])
	}
	return answer, json.Unmarshal(line, &answer)
}

func (w *Watch) close() error {
	_ = w.out.Close() // always nil
	return <-w.ended
}

// End stops the memcheck. The error reports the amount of damaged memory.
func (w *Watch) End() error {
	close(w.stop)
	answer, err := w.word()
	if err = errors.Join(err, w.close()); err != nil {
		return err
	}
	if answer.Wrong > 0 {
		return fmt.Errorf("the guest's memory is damaged: %[2]d of %[1]d watched pages do not contain the data written", answer.Pages, answer.Wrong)
	}
	return nil
}
