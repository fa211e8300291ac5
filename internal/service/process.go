package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"plimsoll/internal/platform"
)

// grace is the time that a daemon has to stop, in addition to the machine's own grace.
const grace = 15 * time.Second

// process is a daemon in the background.
type process struct {
	program string
	env     Env
	log     string
	diary   string
	printed *tail
	read    map[string]int // bytes of each file already returned by Logged

	asked sync.Once
	stop  chan struct{}
	kill  context.CancelFunc
	ended chan struct{} // closed at its exit; the fields below are then set

	result platform.Result
	err    error // error of the machine
}

// start starts a daemon and waits until it responds. On any error, the process has ended.
func start(ctx context.Context, env Env, program string, d Daemon) (*Running, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, context.Cause(ctx))
	}
	p := begin(ctx, env, program, d)
	live, err := p.await(ctx, d.Ready, cmp.Or(d.Patience, patience))
	if err != nil {
		p.kill()
		<-p.ended
		return nil, err
	}
	return &Running{live: live, process: p}, nil
}

func begin(ctx context.Context, env Env, program string, d Daemon) *process {
	// The daemon outlives the call that starts it.
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	p := &process{program: program, env: env, log: d.Log, diary: d.Diary, printed: &tail{}, read: map[string]int{}, stop: make(chan struct{}), kill: kill, ended: make(chan struct{})}
	c := platform.Command{Argv: d.Argv, Dir: env.Dir, Stdout: d.Stdout, Stop: p.stop}
	if c.Stdout == nil {
		c.Stdout, c.Joined = p.printed, true
	}
	if d.Stdin != nil {
		c.Stdin = bytes.NewReader(d.Stdin)
	}
	go func() {
		defer close(p.ended)
		defer kill()
		p.result, p.err = env.Machine.Run(life, c)
	}()
	return p
}

// await probes the daemon until it responds, with growing intervals. It gives up after
// patience without progress, or after longestStart.
func (p *process) await(ctx context.Context, ready func(context.Context) (Live, error), patience time.Duration) (Live, error) {
	began := time.Now()
	w := wait{patience: patience, began: began, at: began}
	pause := 2 * time.Millisecond
	for {
		probe, cancel := context.WithTimeout(ctx, probing)
		live, err := ready(probe)
		cancel()
		if err == nil && p.death() == nil {
			return live, nil
		}
		if w.over(ctx, p) {
			return Live{}, fmt.Errorf("%s does not respond %.3g s after its start and %s: %s; %s",
				p.program, time.Since(began).Seconds(), w.why(), refusal(err), p.lastWords(ctx))
		}
		longest := 50 * time.Millisecond
		if time.Since(began) > patience { // the probes' own CPU time must not count as progress
			longest = time.Second
		}
		again := time.NewTimer(pause)
		pause = min(2*pause, longest)
		select {
		case <-p.ended:
			again.Stop()
			if ctx.Err() != nil {
				return Live{}, fmt.Errorf("start %s: %w", p.program, context.Cause(ctx))
			}
			return Live{}, p.death()
		case <-ctx.Done():
			again.Stop()
			return Live{}, fmt.Errorf("start %s: %w", p.program, context.Cause(ctx))
		case <-again.C:
		}
	}
}

// wait is the wait for a daemon, in intervals of patience.
type wait struct {
	patience time.Duration
	began    time.Time
	at       time.Time // start of the interval
	was      progress  // progress at that time
	busy     bool      // in the last interval
}

// over reports whether to give up.
func (w *wait) over(ctx context.Context, p *process) bool {
	took := time.Since(w.at)
	if took < w.patience {
		return false
	}
	now := p.progress(ctx)
	w.busy = now.since(w.was, took)
	w.at, w.was = time.Now(), now
	return !w.busy || time.Since(w.began) >= max(longestStart, w.patience)
}

func (w *wait) why() string {
	if w.busy {
		return "is still busy"
	}
	return fmt.Sprintf("made no progress (log, CPU time) for %s", w.patience)
}

// lastWords is the end of the log as text.
func (p *process) lastWords(ctx context.Context) string {
	if log := p.lastLog(ctx); log != "" {
		return "its log ends: " + log
	}
	return "it logged nothing"
}

// death is why the daemon has exited; nil while it runs.
func (p *process) death() error {
	select {
	case <-p.ended:
	default:
		return nil
	}
	if p.err != nil {
		return p.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return &DeathError{Program: p.program, Result: p.result, Log: p.lastLog(ctx)}
}

// lastLog is the end of the daemon's output and log.
func (p *process) lastLog(ctx context.Context) string {
	var text []byte
	select {
	case <-p.ended:
		text = append(text, p.result.Stderr...)
	default:
	}
	text = append(text, p.printed.bytes()...)
	if p.log != "" {
		if data, err := p.env.Machine.ReadFile(ctx, path.Join(p.env.Dir, p.log)); err == nil {
			text = append(text, data...)
		}
	}
	return lastLines(text)
}

// end stops the daemon, and kills it if it does not stop or the context is done. A daemon that
// exited before is not an error.
func (p *process) end(ctx context.Context) error {
	select {
	case <-p.ended:
		return nil
	default:
	}
	p.asked.Do(func() { close(p.stop) })
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-ctx.Done():
	case <-timer.C:
	}
	p.kill()
	<-p.ended
	if p.err != nil && !errors.Is(p.err, context.Canceled) {
		return fmt.Errorf("stop %s: %w", p.program, p.err)
	}
	return nil
}

// killed reports that a daemon died and could not stop its children.
func (p *process) killed() bool { return p.err != nil || p.result.Signal != "" }
