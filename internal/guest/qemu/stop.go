package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"plimsoll/internal/guest/hardware"
)

const quitWait = 3 * time.Second

// Stop sends quit to QEMU, kills it if necessary, and removes its files, even if the context
// has ended. Further calls have no effect.
func (g *Guest) Stop(ctx context.Context) error {
	g.stopping.Do(func() {
		g.quit(ctx)
		if err := g.clear(); err != nil {
			g.stopped = fmt.Errorf("stop guest %s: %w", g.Name(), err)
		}
	})
	return g.stopped
}

// Kill kills QEMU, in whatever it waits for. Its files remain until Stop.
func (g *Guest) Kill() {
	g.killed.Store(true)
	g.process.kill()
}

// Killed reports whether Kill was called: there is nobody to ask for anything.
func (g *Guest) Killed() bool { return g.killed.Load() }

func (g *Guest) quit(ctx context.Context) {
	limit, cancel := context.WithTimeout(ctx, quitWait)
	defer cancel()
	if g.Err() == nil && g.monitor.Execute(limit, "quit", nil, nil) == nil {
		g.process.wait(limit)
	}
}

// clear kills QEMU and removes the guest's files.
func (g *Guest) clear() error {
	err := g.clearProcess()
	if g.wiring.Dir != g.options.Dir {
		err = errors.Join(err, os.RemoveAll(g.wiring.Dir))
	}
	return err
}

func (g *Guest) clearProcess() (err error) {
	if g.process != nil {
		g.process.kill()
	}
	for _, f := range []**os.File{&g.memory, &g.devices} {
		if *f != nil {
			err = errors.Join(err, (*f).Close())
			*f = nil
		}
	}
	if m := g.monitor; m != nil {
		g.monitor = nil
		err = errors.Join(err, m.Close())
	}
	return err
}

// forgetSockets removes the sockets of an attempt, before the next.
func (g *Guest) forgetSockets() error {
	sockets, err := filepath.Glob(filepath.Join(g.wiring.Dir, "*.sock"))
	for _, s := range sockets {
		if e := os.Remove(s); !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// makeFiles creates missing files of disks and persistent memory. An existing file must be
// regular and large enough.
func makeFiles(s hardware.Shape, w hardware.Wiring) error {
	for _, d := range s.Disks {
		if d.Backing != hardware.BackingFile {
			continue
		}
		if err := ready(d.Path, d.File(w), d.Size); err != nil {
			return fmt.Errorf("disk %s: %w", d.Name, err)
		}
	}
	for _, p := range s.Persistent {
		if err := ready(p.Path, p.File(w), p.Size); err != nil {
			return fmt.Errorf("persistent memory %s: %w", p.Name, err)
		}
	}
	return nil
}

func ready(given, path string, size int64) error {
	if given == "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		return errors.Join(f.Truncate(size), f.Close())
	}
	i, err := os.Stat(given)
	switch {
	case err != nil:
		return err
	case !i.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", given)
	case i.Size() < size:
		return fmt.Errorf("%s has %d bytes, fewer than the %d requested: enlarge it, or request less", given, i.Size(), size)
	}
	return nil
}
