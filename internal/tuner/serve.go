package tuner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"plimsoll/internal/factor"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/trial/journal"
)

// Serve is the subprocess that factor host.tuner starts: it reads a job, and answers with the
// tuner that runs. As a tuner it goes on until the context ends; it then writes its events.
func Serve(ctx context.Context, open func(context.Context) (platform.Platform, error), in io.Reader, out io.Writer) error {
	var job factor.TunerJob
	if err := json.NewDecoder(in).Decode(&job); err != nil {
		return fmt.Errorf("read the job: %w", err)
	}
	dir, err := folder()
	if err != nil {
		return err
	}
	to := json.NewEncoder(out)
	switch job.Do {
	case factor.TunerShow:
		s, err := occupant(dir)
		return errors.Join(err, to.Encode(s))
	case factor.TunerStop:
		s, err := stop(ctx, dir)
		return errors.Join(err, to.Encode(s))
	case factor.TunerStart:
		o := Defaults()
		o.Rule, o.Every, o.Study, o.Open = job.Rule, time.Duration(job.Every), true, open
		began := false
		o.Report = func(e Event) {
			if !began { // it has claimed the host and sees it
				began = true
				_ = to.Encode(factor.TunerState{Rule: o.Rule, Every: parameter.Duration(o.Every), Process: os.Getpid(), Study: true})
			}
			_ = to.Encode(e)
		}
		return Run(ctx, o)
	}
	return fmt.Errorf("unknown job %q", job.Do)
}

const (
	stopTime  = putBackTime + 10*time.Second // until a tuner has ended
	stopPause = 20 * time.Millisecond
)

// stop ends the tuner that runs, and waits until it has put back its settings.
func stop(ctx context.Context, dir string) (s factor.TunerState, err error) {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	for asked := 0; ; {
		s, err = occupant(dir)
		switch {
		case err == nil && s.Process == 0 && asked == 0:
			return s, nil
		case err == nil && s.Process == 0:
			return s, putBackIn(dir)
		}
		if err == nil && asked != s.Process {
			asked = s.Process
			if err := syscall.Kill(asked, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
				return s, fmt.Errorf("stop the tuner (process %d): %w", asked, err)
			}
		}
		select {
		case <-ctx.Done():
			return s, fmt.Errorf("stop the tuner (process %d): %w", asked, errors.Join(err, context.Cause(ctx)))
		case <-time.After(stopPause):
		}
	}
}

// putBackIn is an error where a tuner that has ended left settings.
func putBackIn(dir string) error {
	if left := journal.Left(dir); len(left) > 0 {
		return fmt.Errorf("the tuner left settings that are not put back: %v: run plimsoll restore", left)
	}
	return nil
}
