package factor

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"plimsoll/internal/platform"
)

// Command is a factor made of a user's commands, which run through sh. The trimmed output of
// read is the level in effect. In apply and restore the word {level} stands for the level. An
// empty restore means apply with the former level.
//
// The level is passed as the first argument of the shell, never as part of the script, so that
// it is never executed.
func Command(name, read, apply, restore string) Factor {
	f := Factor{
		Name:    "command." + name,
		Doc:     "setting read and applied by the study's own commands",
		Example: []string{"off", "on"},
		Check: func(_ context.Context, _ Env, level string) (string, error) {
			if trimmed := strings.TrimSpace(level); trimmed == "" || strings.ContainsRune(level, 0) {
				return "", fmt.Errorf("level %q of a command is empty or contains a NUL byte", level)
			}
			return strings.TrimSpace(level), nil
		},
		Get: func(ctx context.Context, p Env) (string, error) {
			out, err := shell(ctx, p.Machine, read, "")
			if err != nil {
				return "", fmt.Errorf("read command.%s: %w", name, err)
			}
			return strings.TrimSpace(string(out)), nil
		},
		Set: func(ctx context.Context, p Env, level string) error {
			if _, err := shell(ctx, p.Machine, apply, level); err != nil {
				return fmt.Errorf("apply command.%s at level %q: %w", name, level, err)
			}
			return nil
		},
	}
	f.Effect = holds("command " + apply)
	if restore != "" {
		f.Restore = func(ctx context.Context, p Env, former string) error {
			if _, err := shell(ctx, p.Machine, restore, former); err != nil {
				return fmt.Errorf("restore command.%s to level %q: %w", name, former, err)
			}
			return nil
		}
	}
	return f
}

func shell(ctx context.Context, m platform.Machine, script, level string) ([]byte, error) {
	r, err := m.Run(ctx, platform.Command{Argv: []string{"sh", "-c", withArgument(script), "sh", level}})
	switch {
	case err != nil:
		return nil, err
	case r.Signal != "":
		return nil, r.Killed("the command")
	case r.Exit != 0:
		text := bytes.TrimSpace(r.Stderr)
		if len(text) == 0 {
			return nil, fmt.Errorf("the command exited with status %d", r.Exit)
		}
		return nil, fmt.Errorf("the command exited with status %d: %s", r.Exit, text)
	}
	return r.Stdout, nil
}

// withArgument replaces {level} by the first argument, quoted for its place in the script. If
// it misjudges the place, as in a comment with an apostrophe, the shell gets a wrong word but
// does not execute the level.
func withArgument(script string) string {
	const word = "{level}"
	var b strings.Builder
	single, double := false, false
	for i := 0; i < len(script); {
		if strings.HasPrefix(script[i:], word) {
			switch {
			case single:
				b.WriteString(`'"${1}"'`)
			case double:
				b.WriteString(`${1}`)
			default:
				b.WriteString(`"${1}"`)
			}
			i += len(word)
			continue
		}
		c := script[i]
		switch {
		case c == '\\' && !single && i+1 < len(script):
			b.WriteByte(c)
			i++
			c = script[i]
		case c == '\'' && !double:
			single = !single
		case c == '"' && !single:
			double = !double
		}
		b.WriteByte(c)
		i++
	}
	return b.String()
}
