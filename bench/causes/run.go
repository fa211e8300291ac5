package causes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"plimsoll/bench/causes/scene"
	"plimsoll/internal/hosttest"
)

// bench makes causes and asks plimsoll check for them.
type bench struct {
	self, plimsoll string // programs; without the second, causes are only made
	kept           *scene.Kept
	recordings     string // folder for the recordings of plimsoll check, where they are kept
	again          bool   // judge the recordings of that folder
	length         time.Duration
	seed           uint64
}

// once makes a cause once and returns what became of it. The error is that of an end asked for, or of a host that
// could not be put back.
func (b bench) once(ctx context.Context, c cause, run int) (o outcome, err error) {
	o = outcome{Cause: c.name, Run: run, Seed: b.seed + uint64(run)}
	if b.again {
		return o, b.ask(ctx, c, &o)
	}
	release, err := alone(ctx)
	if err != nil {
		return o, err
	}
	defer release()
	void := func(err error) {
		if err != nil && o.Void == "" {
			o.Void = err.Error()
		}
	}
	var without, with scene.Sample
	made, undone := b.scene(ctx, c, o.Seed, true, func(m *scene.Meter) error {
		began := time.Now()
		if err := b.ask(ctx, c, &o); err != nil || m == nil {
			return err
		}
		with, err = m.Mean(began)
		return err
	})
	void(made)
	if undone != nil {
		return o, undone
	}
	if c.bites > 0 && o.Void == "" {
		made, undone := b.scene(ctx, c, o.Seed, false, func(m *scene.Meter) (err error) {
			without, err = over(ctx, m, func(so scene.Sample) bool { return c.metric.worse(so, with) > clear*c.bites })
			return err
		})
		void(made)
		if undone != nil {
			return o, undone
		}
	}
	if ctx.Err() != nil {
		return o, ctx.Err()
	}
	o.Without, o.With = c.metric.of(without), c.metric.of(with)
	if c.bites > 0 && o.Void == "" {
		if o.Worse = c.metric.worse(without, with); o.Worse < c.bites {
			void(fmt.Errorf("the workload's %s is only %.2f times worse with the cause, less than %g times", c.metric.name, o.Worse, c.bites))
		}
	}
	return o, nil
}

// alone waits until nothing else that changes the host runs, or until the context ends.
func alone(ctx context.Context) (release func(), err error) {
	type lock struct {
		release func()
		err     error
	}
	taken := make(chan lock, 1)
	go func() {
		release, err := hosttest.Lock()
		taken <- lock{release, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case l := <-taken:
		return l.release, l.err
	}
}

// scene makes a cause, or its workload alone, has it looked at, and takes it back.
func (b bench) scene(ctx context.Context, c cause, seed uint64, made bool, look func(*scene.Meter) error) (failed, undone error) {
	s, err := scene.New(ctx, b.self, b.kept, seed, made)
	if err != nil {
		return err, nil
	}
	defer func() { undone = s.Close() }()
	m, err := c.make(s)
	if err != nil {
		return fmt.Errorf("make %s: %w", c.name, err), nil
	}
	if err := s.Pause(warm); err != nil {
		return err, nil
	}
	if m != nil {
		if err := s.Wait("figures of the workload of "+c.name, func() bool { return m.Count() > 0 }); err != nil {
			return errors.Join(err, s.Failed()), nil
		}
	}
	return errors.Join(look(m), s.Failed()), nil
}

// over is what a workload reaches from now on, until that is enough or a time has passed.
func over(ctx context.Context, m *scene.Meter, enough func(scene.Sample) bool) (sample scene.Sample, err error) {
	for began := time.Now(); time.Since(began) < long; {
		select {
		case <-ctx.Done():
			return scene.Sample{}, ctx.Err()
		case <-time.After(each):
		}
		if sample, err = m.Mean(began); err == nil && enough(sample) {
			break
		}
	}
	return sample, err
}

// ask runs plimsoll check and judges its answer.
func (b bench) ask(ctx context.Context, c cause, o *outcome) error {
	if b.plimsoll == "" {
		select {
		case <-ctx.Done():
		case <-time.After(rare):
		}
		return ctx.Err()
	}
	args := []string{"check", "--json"}
	switch folder := filepath.Join(b.recordings, fmt.Sprintf("%s-%d", c.name, o.Seed)); {
	case b.again:
		kept, err := filepath.Glob(filepath.Join(folder, "*.json.gz"))
		if err != nil || len(kept) == 0 {
			o.Void = "there is no recording in " + folder
			return err
		}
		args = append(args, "--recording", kept[len(kept)-1])
	case b.recordings != "":
		args = append(args, "--for", b.length.String(), "--save", folder)
	default:
		args = append(args, "--for", b.length.String())
	}
	cmd := exec.CommandContext(ctx, b.plimsoll, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	before, err := readCPUTime()
	if err != nil {
		return err
	}
	printed, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		return fmt.Errorf("plimsoll check: %w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	a, err := parse(printed)
	if err != nil {
		return err
	}
	after, err := readCPUTime()
	if err != nil {
		return err
	}
	if !b.again {
		o.Void = withheld(before, after, runtime.NumCPU())
	}
	c.judge(a, o)
	return nil
}
