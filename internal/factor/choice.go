package factor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"plimsoll/internal/platform"
)

// choices reads a file in which the kernel lists what can be chosen, with the
// present choice in brackets: "none [mq-deadline] kyber". A single word without
// brackets is both.
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
		return "", nil, fmt.Errorf("no present choice in %q", text)
	}
	return chosen, offered, nil
}

// chosen reads such a file. What names its subject: "block scheduler".
func chosen(ctx context.Context, m platform.Machine, name, what string) (string, []string, error) {
	text, err := read(ctx, m, name, what)
	if err != nil {
		return "", nil, err
	}
	now, offered, err := choices(text)
	if err != nil {
		return "", nil, fmt.Errorf("%s: read %s: %w", m.Name(), name, err)
	}
	return now, offered, nil
}

// read reads a setting. Where its file is absent, the machine lacks what it sets.
func read(ctx context.Context, m platform.Machine, name, what string) (string, error) {
	text, err := m.ReadFile(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s has no %s (no %s): %w", m.Name(), what, name, errors.ErrUnsupported)
	}
	if err != nil {
		return "", fmt.Errorf("%s: read the %s: %w", m.Name(), what, err)
	}
	return strings.TrimSpace(string(text)), nil
}

func write(ctx context.Context, m platform.Machine, name, what, level string) error {
	err := m.WriteFile(ctx, name, []byte(level))
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s: set the %s to %s: %w: run plimsoll as root", m.Name(), what, level, err)
	}
	if err != nil {
		return fmt.Errorf("%s: set the %s to %s: %w", m.Name(), what, level, err)
	}
	return nil
}
