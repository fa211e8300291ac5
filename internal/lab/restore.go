package lab

import (
	"context"
	"errors"
	"fmt"

	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/restore"
)

// Restore restores the settings that dead runs of this user left changed on this host: of one
// results folder, or of every run. It returns a line per action. Runs in progress and those of
// other users are not touched.
func (l *Lab) Restore(ctx context.Context, dirs ...string) ([]string, error) {
	logs, err := journal.UndoFolder()
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return l.restoreAll(ctx, logs)
	}
	var done []string
	var failed error
	for _, dir := range dirs {
		lines, err := l.restoreFolder(ctx, dir, logs)
		done = append(done, lines...)
		failed = errors.Join(failed, err)
	}
	return done, failed
}

func (l *Lab) restoreFolder(ctx context.Context, dir, logs string) (done []string, failed error) {
	all, err := journal.LogsOf(dir, logs)
	if err != nil {
		return nil, err
	}
	for _, log := range all {
		lines, err := l.restore(ctx, log)
		if used := (*journal.InUse)(nil); errors.As(err, &used) {
			used.What = "the run in " + dir
			err = &mistake{fmt.Errorf("%w: it restores all settings when it ends; interrupt it to stop it now", used)}
		}
		done = append(done, lines...)
		failed = errors.Join(failed, err)
	}
	return done, failed
}

func (l *Lab) restoreAll(ctx context.Context, logs string) (done []string, failed error) {
	all, err := journal.ListUnfinished(logs)
	if err != nil {
		return nil, err
	}
	// Runs that depend on another dead run's restore are tried again.
	for again := true; again; {
		var refused []journal.Unfinished
		var why error
		for _, u := range all {
			if u.Err != nil || u.Process != "" {
				failed = errors.Join(failed, u.Err)
				continue
			}
			lines, err := l.restore(ctx, u.Log)
			done = append(done, lines...)
			if used, refusal := (*journal.InUse)(nil), (*fault.Refusal)(nil); errors.As(err, &used) {
				continue // another process resumes or restores it
			} else if errors.As(err, &refusal) {
				refused, why = append(refused, u), errors.Join(why, fmt.Errorf("run in %s: %w", u.Dir, err))
			} else if err != nil {
				failed = errors.Join(failed, fmt.Errorf("run in %s: %w", u.Dir, err))
			}
		}
		again = len(refused) > 0 && len(refused) < len(all)
		if all = refused; !again {
			failed = errors.Join(failed, why)
		}
	}
	for _, kind := range l.Catalog.Platforms {
		if kind.Sweep != nil {
			lines, err := kind.Sweep(ctx)
			done, failed = append(done, lines...), errors.Join(failed, err)
		}
	}
	return done, failed
}

func (l *Lab) restore(ctx context.Context, log string) ([]string, error) {
	return restore.Restore(ctx, restore.Restoration{Log: log, Catalog: l.Catalog, Open: l.open})
}
