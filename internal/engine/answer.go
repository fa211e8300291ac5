package engine

import (
	"errors"
	"fmt"

	"plimsoll/internal/load"
)

// Answer hears messages up to one that ends an operation, for which hear has an answer with
// a slot. It allocates nothing.
func (s *Session) Answer(data []byte, hear func(e Event) (load.Answer, error)) (load.Answer, int, error) {
	for used := 0; ; {
		e, n, err := s.Hear(data[used:])
		if err != nil || n == 0 {
			return load.Answer{Slot: load.NoSlot}, used, err
		}
		used += n
		a, err := hear(e)
		if err != nil || a.Slot != load.NoSlot {
			return a, used, err
		}
	}
}

// Unasked is why a session is over whose server says something though nothing was asked.
func (e Event) Unasked() error {
	switch {
	case e.Fault != nil:
		return fmt.Errorf("%w: %w", load.ErrRefused, e.Fault)
	case e.Row != nil || e.Done || e.Over:
		return errors.New("unexpected message from the server")
	}
	return nil
}
