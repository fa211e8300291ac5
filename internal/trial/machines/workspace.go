package machines

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
)

// Absent reports whether the scratch folder does not exist yet, so that the run that makes it
// may remove it.
func (w Workspace) Absent(ctx context.Context) (bool, error) {
	result, err := w.Command(ctx, "test", "-e", w.Dir)
	if err != nil {
		return false, fmt.Errorf("look for scratch folder %s: %w", w.Dir, err)
	}
	return result.Exit != 0, nil
}

// Command runs a command of the system. A command that was killed is an error, since its status means nothing.
func (w Workspace) Command(ctx context.Context, argv ...string) (platform.Result, error) {
	r, err := w.Machine.Run(ctx, platform.Command{Argv: argv})
	if err == nil {
		err = r.Killed(argv[0])
	}
	return r, err
}

// markFile marks a folder as a scratch folder of a run: several runs may share a folder on another machine. It holds
// a secret of the run, so that nobody else can mark a folder for it.
func (w Workspace) markFile(mark string) string {
	return path.Join(w.Dir, ".plimsoll-"+measure.Checksum([]byte(mark))[:12])
}

// makeScratch makes the scratch folder and marks it.
func (w Workspace) makeScratch(ctx context.Context, mark string) error {
	result, err := w.Command(ctx, "mkdir", "-p", "--", w.Dir)
	if err == nil && result.Exit != 0 {
		err = fmt.Errorf("%s", LastLine(result.Stderr))
	}
	if err == nil {
		err = w.Machine.WriteFile(ctx, w.markFile(mark), []byte(mark+"\n"))
	}
	if err != nil {
		return fmt.Errorf("create scratch folder %s: %w", w.Dir, err)
	}
	return nil
}

// Marked makes sure that the scratch folder is the one that the run made, and was not replaced. One that is gone or
// empty needs no mark.
func (w Workspace) Marked(ctx context.Context, mark string) error {
	r, err := w.Command(ctx, "ls", "-A", "--", w.Dir)
	if err != nil {
		return fmt.Errorf("look into scratch folder %s: %w", w.Dir, err)
	}
	if in := strings.TrimSpace(string(r.Stdout)); r.Exit != 0 || in == "" || in == path.Base(w.markFile(mark)) {
		return nil // nothing is removed
	}
	kind, err := w.Command(ctx, "stat", "-c", "%F", "--", w.Dir)
	if err != nil {
		return fmt.Errorf("check scratch folder %s: %w", w.Dir, err)
	}
	text, err := w.Machine.ReadFile(ctx, w.markFile(mark))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the mark of scratch folder %s: %w", w.Dir, err)
	}
	if strings.TrimSpace(string(kind.Stdout)) != "directory" || strings.TrimSpace(string(text)) != mark || mark == "" {
		return fmt.Errorf("%s does not carry the mark of this run, %s: it was replaced, and nothing in it is removed", w.Dir, w.markFile(mark))
	}
	return nil
}

// RemoveScratch removes the scratch folder where it holds nothing but the mark of the run: other files are not ours
// to remove, or need the mark to be removed later.
func (w Workspace) RemoveScratch(ctx context.Context, mark string) error {
	listed, err := w.Command(ctx, "ls", "-A", "--", w.Dir)
	if err == nil && strings.TrimSpace(string(listed.Stdout)) == path.Base(w.markFile(mark)) {
		_, err = w.Command(ctx, "rm", "-f", "--", w.markFile(mark))
	}
	if err == nil {
		_, err = w.Command(ctx, "rmdir", "--", w.Dir)
	}
	if err != nil {
		return fmt.Errorf("remove scratch folder %s: %w", w.Dir, err)
	}
	return nil
}

// LastLine is the last line of a command's output.
func LastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// Env is the environment of a load on the machine, with the seed of its data.
func (w Workspace) Env(seed uint64) workload.Env {
	return workload.Env{Machine: w.Machine, Dir: w.Dir, Seed: seed, Log: func(string, ...any) {}}
}

// Space is the free space of the folder, or of its future place.
func (w Workspace) Space(ctx context.Context) (platform.Space, bool) {
	o, ok := w.Machine.(platform.Observer)
	if !ok || w.Dir == "" {
		return platform.Space{}, false
	}
	left, err := o.Space(ctx, w.Dir)
	for dir := w.Dir; err != nil && path.Dir(dir) != dir && ctx.Err() == nil; {
		dir = path.Dir(dir) // plimsoll makes the scratch folder only when a run begins
		left, err = o.Space(ctx, dir)
	}
	if err != nil || left.Size <= 0 {
		return platform.Space{}, false
	}
	return left, true
}
