package service

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"plimsoll/internal/platform"
)

// markFile marks folders made by makeFolder; others are never removed.
const markFile = ".plimsoll-service"

// makeFolder creates the folder of one instance. A folder left by a killed instance is removed
// first; any other is an error.
func makeFolder(ctx context.Context, env Env) error {
	m, dir := env.Machine, env.Dir
	if !path.IsAbs(dir) || path.Clean(dir) == "/" {
		return fmt.Errorf("folder %q of a service: it must be an absolute path", dir)
	}
	if _, err := m.ReadFile(ctx, path.Join(dir, markFile)); err == nil {
		if err := removeFolder(ctx, env); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("create the folder of a service: %w", context.Cause(ctx))
	}
	// Cancellation must not interrupt before the mark exists.
	ctx = context.WithoutCancel(ctx)
	for _, argv := range [][]string{{"mkdir", "-p", "--", path.Dir(dir)}, {"mkdir", "-m", "755", "--", dir}} {
		if _, err := output(ctx, m, argv...); err != nil {
			return fmt.Errorf("create the folder of a service: %w", err)
		}
	}
	if err := m.WriteFile(ctx, path.Join(dir, markFile), []byte("plimsoll removes this folder\n")); err != nil {
		return errors.Join(fmt.Errorf("create the folder of a service: %w", err), removeFolder(ctx, env))
	}
	return nil
}

// removeFolder removes a folder made by makeFolder, with everything outside that it refers to.
func removeFolder(ctx context.Context, env Env) error {
	if err := Release(ctx, env.Machine, env.Dir, env.release); err != nil {
		return err
	}
	if _, err := output(ctx, env.Machine, "rm", "-rf", "--", env.Dir); err != nil {
		return fmt.Errorf("remove the folder of a service: %w", err)
	}
	return nil
}

// output runs a short command and returns its output.
func output(ctx context.Context, m platform.Machine, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := m.Run(ctx, platform.Command{Argv: argv})
	if err != nil {
		return "", err
	}
	if err := r.Killed(argv[0]); err != nil {
		return "", err
	}
	if r.Exit != 0 {
		text := strings.TrimSpace(string(r.Stderr))
		if text == "" {
			text = fmt.Sprintf("%s ended with status %d", argv[0], r.Exit)
		}
		return "", errors.New(text)
	}
	return string(r.Stdout), nil
}
