package factor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"plimsoll/internal/platform"
)

// file is a factor that is one kernel file.
type file struct {
	words func(p Env) string // name the setting in errors
	path  func(ctx context.Context, p Env) (string, error)
	// choice marks a file in which the kernel lists all levels, with the selected one in
	// brackets.
	choice  bool
	toFile  func(level string) (text string, err error) // nil writes the level unchanged
	toLevel func(text string) (level string, err error) // nil takes the text unchanged
}

// called is the name of a setting whatever the target.
func called(words string) func(Env) string { return func(Env) string { return words } }

// factor completes a factor, except for a Check or an Effect of its own.
func (s file) factor(f Factor) Factor {
	f.Offers = func(ctx context.Context, p Env) ([]string, error) {
		_, offered, err := s.get(ctx, p)
		return offered, err
	}
	f.Get = func(ctx context.Context, p Env) (string, error) {
		now, _, err := s.get(ctx, p)
		return now, err
	}
	f.Set = s.set
	if f.Check == nil && s.toFile != nil {
		f.Check = func(_ context.Context, _ Env, level string) (string, error) {
			text, err := s.toFile(level)
			if err != nil {
				return "", err
			}
			return s.toLevel(text)
		}
	}
	if f.Effect == nil {
		f.Effect = func(ctx context.Context, p Env) (Effect, error) {
			name, err := s.path(ctx, p)
			return Effect{Sets: []string{name}}, err
		}
	}
	return f
}

func (s file) get(ctx context.Context, p Env) (level string, offered []string, err error) {
	name, err := s.path(ctx, p)
	if err != nil {
		return "", nil, err
	}
	if level, err = Read(ctx, p.Machine, name, s.words(p)); err != nil {
		return "", nil, err
	}
	switch {
	case s.choice:
		level, offered, err = choices(level)
	case s.toLevel != nil:
		level, err = s.toLevel(level)
	}
	if err != nil {
		return "", nil, fmt.Errorf("%s: read %s: %w", p.Machine.Name(), name, err)
	}
	return level, offered, nil
}

func (s file) set(ctx context.Context, p Env, level string) (err error) {
	text := level
	if s.toFile != nil {
		if text, err = s.toFile(level); err != nil {
			return err
		}
	}
	name, err := s.path(ctx, p)
	if err != nil {
		return err
	}
	return Write(ctx, p.Machine, name, s.words(p), text)
}

// choices parses a file in which the kernel lists all choices, with the selected one in
// brackets: "none [mq-deadline] kyber". A single word without brackets is both.
func choices(text string) (chosen string, offered []string, err error) {
	for word := range strings.FieldsSeq(text) {
		if inner, found := strings.CutPrefix(word, "["); found && strings.HasSuffix(inner, "]") {
			word = strings.TrimSuffix(inner, "]")
			chosen = word
		}
		offered = append(offered, word)
	}
	if chosen == "" && len(offered) == 1 {
		chosen = offered[0]
	}
	if chosen == "" {
		return "", nil, fmt.Errorf("no current choice in %q", text)
	}
	return chosen, offered, nil
}

// Read reads a setting. If its file is absent, the machine does not support it.
func Read(ctx context.Context, m platform.Machine, name, what string) (string, error) {
	text, err := m.ReadFile(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s has no %s (no %s): %w", m.Name(), what, name, errors.ErrUnsupported)
	}
	if err != nil {
		return "", fmt.Errorf("%s: read the %s: %w", m.Name(), what, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Write writes a setting. It says so if that takes root.
func Write(ctx context.Context, m platform.Machine, name, what, level string) error {
	err := m.WriteFile(ctx, name, []byte(level))
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s: set the %s to %s: %w: run plimsoll as root", m.Name(), what, level, err)
	}
	if err != nil {
		return fmt.Errorf("%s: set the %s to %s: %w", m.Name(), what, level, err)
	}
	return nil
}
