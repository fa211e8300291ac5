package factor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// TunerCommand is the argument that starts the subprocess which asks about, starts and stops
// the tuner of a host. It reads a TunerJob and answers with a TunerState.
const TunerCommand = "host-tuner"

// What a TunerJob is to do.
const (
	TunerShow  = "show"  // the tuner that runs
	TunerStart = "start" // answer, and be the tuner until a signal or TunerStop
	TunerStop  = "stop"  // end the one that runs, and wait until all is put back
)

// TunerJob is what to do about the tuner of a host.
type TunerJob struct {
	Do    string             `json:"do"`
	Rule  string             `json:"rule,omitempty"`
	Every parameter.Duration `json:"every,omitempty"` // time between decisions
}

// TunerState is the tuner that runs on a host; the zero value is none.
type TunerState struct {
	Rule    string             `json:"rule,omitempty"`
	Every   parameter.Duration `json:"every,omitempty"`
	Process int                `json:"process,omitempty"`
	Study   bool               `json:"study,omitempty"` // a study started it
}

// denseRule is the one rule of tuners, with the time between decisions as published.
const (
	denseRule     = "dense"
	publishedTime = parameter.Duration(time.Minute)
	tunerOff      = "off"
)

// HostTuner is whether a tuner runs on the host: a process that decides by a rule whether
// network work is batched, and changes settings of network interfaces accordingly.
func HostTuner() Factor {
	return Factor{
		Root:    true,
		Name:    "host.tuner",
		Doc:     "tuner of the host: dense batches network work while VMs, vCPUs and CPU time reach the published thresholds; dense/5s decides every 5 s, not every 60 s",
		Example: []string{tunerOff, denseRule},
		Offers: func(ctx context.Context, p Env) ([]string, error) {
			_, err := askTuner(ctx, p, TunerJob{Do: TunerShow})
			return nil, err
		},
		Check: func(_ context.Context, _ Env, level string) (string, error) {
			if level == tunerOff {
				return level, nil
			}
			job, err := tunerJob(level)
			return job.level(), err
		},
		Get: func(ctx context.Context, p Env) (string, error) {
			s, err := askTuner(ctx, p, TunerJob{Do: TunerShow})
			if err != nil || s.Process == 0 {
				return tunerOff, err
			}
			return TunerJob{Rule: s.Rule, Every: s.Every}.level(), nil
		},
		Set: setTuner,
		Effect: func(ctx context.Context, p Env) (Effect, error) {
			s, err := askTuner(ctx, p, TunerJob{Do: TunerShow})
			if err == nil && s.Process != 0 && !s.Study {
				err = fmt.Errorf("%s: tuner %s runs already (process %d) and ends with whoever started it: stop it first", p.Machine.Name(), s.Rule, s.Process)
			}
			return Effect{Sets: []string{TunerClaim}}, err
		},
	}
}

// TunerClaim is the name under which a run claims the tuner of a host.
const TunerClaim = "tuner of the host, which changes interrupt coalescing and NAPI deferral of interfaces"

// level is the text of a tuner in a study.
func (j TunerJob) level() string {
	if j.Every == publishedTime || j.Every == 0 {
		return j.Rule
	}
	return j.Rule + "/" + j.Every.String()
}

// tunerJob parses a level other than off.
func tunerJob(level string) (TunerJob, error) {
	job := TunerJob{Do: TunerStart, Every: publishedTime}
	every, timed := "", false
	job.Rule, every, timed = strings.Cut(level, "/")
	if job.Rule != denseRule {
		return job, fmt.Errorf("level %q is neither %s nor %s, which may be followed by a time between decisions, like %s/5s", level, tunerOff, denseRule, denseRule)
	}
	if !timed {
		return job, nil
	}
	if err := job.Every.UnmarshalText([]byte(every)); err != nil || CheckTunerTime(time.Duration(job.Every)) != nil {
		return job, fmt.Errorf("level %q: %w", level, errors.Join(err, CheckTunerTime(time.Duration(job.Every))))
	}
	return job, nil
}

// CheckTunerTime refuses a time between decisions that is too short to tell the use of CPU time,
// or longer than anybody waits.
func CheckTunerTime(every time.Duration) error {
	if every < time.Second || every > time.Hour || every%time.Millisecond != 0 {
		return fmt.Errorf("a time of %v between decisions: it must be from 1s to 1h, in whole milliseconds", every)
	}
	return nil
}

func setTuner(ctx context.Context, p Env, level string) error {
	if _, err := askTuner(ctx, p, TunerJob{Do: TunerStop}); err != nil || level == tunerOff {
		return err
	}
	job, err := tunerJob(level)
	if err != nil {
		return err
	}
	return startTuner(ctx, p, job)
}

// tunerCommand is the subprocess with a job.
func tunerCommand(ctx context.Context, p Env, job TunerJob) (platform.Command, error) {
	c, ok := p.Machine.(platform.Carrier)
	if !ok {
		return platform.Command{}, fmt.Errorf("%s has no copy of plimsoll, which a tuner needs: %w", p.Machine.Name(), errors.ErrUnsupported)
	}
	self, err := c.Self(ctx)
	if err != nil {
		return platform.Command{}, err
	}
	line, err := json.Marshal(job)
	return platform.Command{Argv: []string{self, TunerCommand}, Stdin: bytes.NewReader(append(line, '\n'))}, err
}

func askTuner(ctx context.Context, p Env, job TunerJob) (s TunerState, err error) {
	c, err := tunerCommand(ctx, p, job)
	if err != nil {
		return s, err
	}
	r, err := p.Machine.Run(ctx, c)
	if err == nil {
		err = tunerFailed(p, r)
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(r.Stdout, &s); err != nil {
		return s, fmt.Errorf("%s: tuner: read the response: %w", p.Machine.Name(), err)
	}
	return s, nil
}

// tunerFailed is the error of a subprocess that ended badly.
func tunerFailed(p Env, r platform.Result) error {
	said := strings.Join(strings.Fields(string(r.Stderr)), " ")
	switch {
	case r.Signal != "":
		return fmt.Errorf("%s: tuner: %w", p.Machine.Name(), r.Killed("plimsoll"))
	case strings.Contains(said, "unknown command") || strings.Contains(said, "plimsoll-agent is started by plimsoll"):
		return fmt.Errorf("%s: the program there is no complete plimsoll, which a tuner needs: use platform local: %w", p.Machine.Name(), errors.ErrUnsupported)
	case r.Exit != 0:
		return fmt.Errorf("%s: tuner: %s", p.Machine.Name(), said)
	}
	return nil
}

// startTuner starts the tuner as a process that ends with this one, and returns once it has
// answered.
func startTuner(ctx context.Context, p Env, job TunerJob) error {
	c, err := tunerCommand(ctx, p, job)
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	answer := &answered{line: make(chan struct{})}
	c.Stdout, c.Stop = answer, stop
	ended := make(chan error, 1)
	go func() {
		r, err := p.Machine.Run(context.WithoutCancel(ctx), c)
		if err == nil {
			err = tunerFailed(p, r)
		}
		ended <- err
	}()
	select {
	case <-answer.line:
		return nil
	case err := <-ended:
		if err == nil {
			err = fmt.Errorf("%s: the tuner ended as soon as it was started", p.Machine.Name())
		}
		return err
	case <-ctx.Done():
		close(stop)
		return errors.Join(context.Cause(ctx), <-ended)
	}
}

// answered waits for the first line of an output, and ignores the rest.
type answered struct {
	once sync.Once
	line chan struct{}
}

// Write looks for the end of a line.
func (a *answered) Write(data []byte) (int, error) {
	if bytes.IndexByte(data, '\n') >= 0 {
		a.once.Do(func() { close(a.line) })
	}
	return len(data), nil
}
