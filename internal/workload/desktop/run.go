package desktop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"plimsoll/internal/load"
	"plimsoll/internal/load/routine"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/desktop/page"
)

// Run has sessions work until the stage ends, and then ends them.
func (d *desktop) Run(ctx context.Context, env workload.Env, stage load.Stage, out *measure.Recorder) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	text, err := os.ReadFile(filepath.Join(folder(env), d.referenceFile()))
	if err != nil {
		return fmt.Errorf("read the result of the base phase: %w", err)
	}
	known, err := parseReference(string(text), d.names())
	if err != nil {
		return fmt.Errorf("read the result of the base phase: %w", err)
	}
	b, err := d.open(ctx, env)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	w := newDay(d, b, known)
	w.seed = stage.Seed
	ctx, w.cancel = context.WithCancelCause(ctx)
	w.ctx = ctx
	defer w.close()
	out.Amend(w.amend)
	job := load.Job{
		Stage: stage, Connections: d.Sessions, Timeout: timeout(d), Classes: d.names(), Caller: w.hire,
		Think: load.Think{Mean: d.think(), Exponential: d.Think == "exponential"},
	}
	stop := w.watchMemory()
	err = routine.Run(ctx, job, out)
	stop()
	w.close()
	if err != nil {
		return err
	}
	w.conclude(out)
	return w.exhausted()
}

// open starts what all sessions have in common, and makes their folder anew.
func (d *desktop) open(ctx context.Context, env workload.Env) (*building, error) {
	b := &building{loop: d.loop, folder: filepath.Join(folder(env), "sessions"), documents: documents(env), seed: env.Seed}
	var err error
	if b.paths, err = lookUp(d.needed); err != nil {
		return nil, err
	}
	if b.text, err = os.ReadFile(filepath.Join(b.documents, textName)); err != nil {
		return nil, fmt.Errorf("read the documents: %w", err)
	}
	if err := errors.Join(os.RemoveAll(b.folder), os.Mkdir(b.folder, 0o700)); err != nil {
		return nil, fmt.Errorf("create the folder of the sessions: %w", err)
	}
	if _, browses := b.paths["browser"]; browses {
		if b.server, err = page.Serve(ctx, env.Seed); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// close ends the page server and removes the folder of the sessions.
func (b *building) close() error {
	err := os.RemoveAll(b.folder)
	if b.server != nil {
		err = errors.Join(err, b.server.Close())
	}
	return err
}
