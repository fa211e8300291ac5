package factor

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"plimsoll/internal/platform"
)

type named struct {
	platform.Machine
	name string
}

func (n named) Name() string { return n.name }

// kept is a factor of the machines with one name.
func kept(factor, machine string, level *string) Factor {
	mine := func(p Place) error {
		if p.Machine != nil && p.Machine.Name() != machine {
			return fmt.Errorf("only %s has it: %w", machine, errors.ErrUnsupported)
		}
		return nil
	}
	return Factor{
		Name:  factor,
		Check: func(_ context.Context, p Place, l string) (string, error) { return machine + l, mine(p) },
		Get:   func(_ context.Context, p Place) (string, error) { return *level, mine(p) },
		Set: func(_ context.Context, p Place, l string) error {
			if err := mine(p); err != nil {
				return err
			}
			*level = l
			return nil
		},
	}
}

func TestEitherAsksWhoHasIt(t *testing.T) {
	var a, b, c string
	all := Either([]Factor{kept("shape", "one", &a)}, []Factor{kept("shape", "two", &b), kept("other", "two", &c)})
	if len(all) != 2 || all[0].Name != "shape" || all[1].Name != "other" {
		t.Fatalf("%v", all)
	}
	f := all[0]
	for i, name := range []string{"one", "two"} {
		at := Place{Machine: named{name: name}}
		level := fmt.Sprint(i)
		if got, err := f.Accept(t.Context(), at, level); err != nil || got != name+level {
			t.Errorf("%s takes %s as %s, %v", name, level, got, err)
		}
		if err := f.Set(t.Context(), at, level); err != nil {
			t.Error(err)
		}
		if got, err := f.Get(t.Context(), at); err != nil || got != level {
			t.Errorf("%s is at %s, %v", name, got, err)
		}
	}
	if a != "0" || b != "1" {
		t.Errorf("%s, %s", a, b)
	}
	at := Place{Machine: named{name: "three"}}
	_, err := f.Get(t.Context(), at)
	_, checked := f.Accept(t.Context(), at, "x")
	for _, err := range []error{err, checked, f.Set(t.Context(), at, "x")} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("a machine that has it in no way: %v", err)
		}
	}
	if got, err := f.Accept(t.Context(), Place{}, "x"); err != nil || got != "onex" {
		t.Errorf("%s, %v", got, err)
	}
}
