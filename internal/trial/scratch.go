package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// absent says whether the scratch folder is not there yet, so that the run that
// makes it may remove it.
func (p post) absent(ctx context.Context) (bool, error) {
	result, err := p.command(ctx, "test", "-e", p.dir)
	if err != nil {
		return false, fmt.Errorf("look for scratch folder %s: %w", p.dir, err)
	}
	return result.Exit != 0, nil
}

// command runs a command of the system. One that was killed is an error: it says nothing, and its status is none.
func (p post) command(ctx context.Context, argv ...string) (platform.Result, error) {
	r, err := p.machine.Run(ctx, platform.Command{Argv: argv})
	if err == nil {
		err = r.Killed(argv[0])
	}
	return r, err
}

// markFile is the file that marks a folder as a scratch folder of a run: several runs may share a folder on another machine. It holds a secret of
// the run, so that nobody can mark a folder for it.
func (p post) markFile(mark string) string {
	return path.Join(p.dir, ".plimsoll-"+measure.Checksum([]byte(mark))[:12])
}

// makeScratch makes the scratch folder and marks it.
func (p post) makeScratch(ctx context.Context, mark string) error {
	result, err := p.command(ctx, "mkdir", "-p", "--", p.dir)
	if err == nil && result.Exit != 0 {
		err = fmt.Errorf("%s", lastLine(result.Stderr))
	}
	if err == nil {
		err = p.machine.WriteFile(ctx, p.markFile(mark), []byte(mark+"\n"))
	}
	if err != nil {
		return fmt.Errorf("make scratch folder %s: %w", p.dir, err)
	}
	return nil
}

// marked makes sure that a scratch folder is the one that the run made, and no other to which its name leads by now. One that is gone or empty
// needs none.
func (p post) marked(ctx context.Context, mark string) error {
	r, err := p.command(ctx, "ls", "-A", "--", p.dir)
	if err != nil {
		return fmt.Errorf("look into scratch folder %s: %w", p.dir, err)
	}
	if in := strings.TrimSpace(string(r.Stdout)); r.Exit != 0 || in == "" || in == path.Base(p.markFile(mark)) {
		return nil // nothing is removed
	}
	kind, err := p.command(ctx, "stat", "-c", "%F", "--", p.dir)
	if err != nil {
		return fmt.Errorf("look at scratch folder %s: %w", p.dir, err)
	}
	text, err := p.machine.ReadFile(ctx, p.markFile(mark))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the mark of scratch folder %s: %w", p.dir, err)
	}
	if strings.TrimSpace(string(kind.Stdout)) != "directory" || strings.TrimSpace(string(text)) != mark || mark == "" {
		return fmt.Errorf("%s does not carry the mark of this run, %s: it was replaced, and nothing is removed in it", p.dir, p.markFile(mark))
	}
	return nil
}

// removeScratch removes the scratch folder where it holds nothing but the mark of the run. What else lies in it is not ours to remove, or needs the mark to be removed.
func (p post) removeScratch(ctx context.Context, mark string) error {
	listed, err := p.command(ctx, "ls", "-A", "--", p.dir)
	if err == nil && strings.TrimSpace(string(listed.Stdout)) == path.Base(p.markFile(mark)) {
		_, err = p.command(ctx, "rm", "-f", "--", p.markFile(mark))
	}
	if err == nil {
		_, err = p.command(ctx, "rmdir", "--", p.dir)
	}
	if err != nil {
		return fmt.Errorf("remove scratch folder %s: %w", p.dir, err)
	}
	return nil
}
