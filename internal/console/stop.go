package console

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// stops are the termination signals.
var stops = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGXCPU}

// Survive ignores SIGPIPE: writes to closed pipes fail instead.
func Survive() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// Stopping is the configuration of an orderly shutdown.
type Stopping struct {
	Out, Err io.Writer
	// Left is what is still to be put back, a phrase each, and the command that does it later.
	// It is nil for a program that changes no host.
	Left func() (left []string, later string)
	// Readers stops the program when its output is closed.
	Readers bool
	// Exit exits at once; it is for the second Ctrl-C.
	Exit func()
}

// Start returns a context that the first signal cancels which asks the program to end: Ctrl-C,
// SIGTERM, a closed terminal or pipe. Each later signal is ignored, since many senders repeat
// themselves and none of them knows what is left to put back: only Ctrl-C typed at the terminal
// on which that was said ends the program at once. Signals that were ignored when the program
// started, as nohup does with SIGHUP, stay so.
//
// The function that it returns gives the terminal back.
func (s Stopping) Start(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 8)
	for _, one := range stops {
		if !signal.Ignored(one) {
			signal.Notify(signals, one)
		}
	}
	Survive()
	done := make(chan struct{})
	var over sync.WaitGroup
	over.Go(func() {
		var cause error
		select {
		case by := <-signals:
			cause = stopped{by}
		case <-s.closed(s.Out):
			cause = stopped{}
		case <-s.closed(s.Err):
			cause = stopped{}
		case <-done:
			return
		}
		left, later := s.outstanding()
		cancel(cause) // before anything that may block
		s.bounded()
		var keys *keyboard
		if here := attended(s.Out, s.Err); s.say(cause, left, later, here) && here {
			keys = openKeyboard()
		}
		s.wait(signals, keys, done)
	})
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		over.Wait()
		cancel(nil)
	}
}

// idle is the time limit of a program that should end and has nothing to restore: it hangs.
const idle = 2 * time.Minute

// wait ignores further signals, until the program has ended or Ctrl-C is typed.
func (s Stopping) wait(signals <-chan os.Signal, keys *keyboard, done <-chan struct{}) {
	defer keys.close()
	look := time.NewTicker(idle)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if left, later := s.outstanding(); len(left) == 0 {
				fmt.Fprintf(s.Err, "\nplimsoll: it does not end, and has nothing of this run to put back; to make sure: %s\n", later)
				keys.close()
				s.Exit()
				return
			}
		case <-signals:
		case <-done:
			return
		case <-keys.interrupted():
			left, later := s.outstanding()
			fmt.Fprintf(s.Err, "\nplimsoll: left at once. Not put back: %s. To put it back: %s\n", phrase(left), later)
			keys.close()
			s.Exit()
			return
		}
	}
}

// lookTime bounds reading what is left: results may be on an unreachable network file system.
const lookTime = 500 * time.Millisecond

// outstanding is what is not restored yet, as far as it can be read quickly.
func (s Stopping) outstanding() (left []string, later string) {
	if s.Left == nil {
		return nil, "plimsoll restore"
	}
	type answer struct {
		left  []string
		later string
	}
	known := make(chan answer, 1)
	go func() {
		var a answer
		a.left, a.later = s.Left()
		known <- a
	}()
	select {
	case a := <-known:
		return a.left, a.later
	case <-time.After(lookTime):
		return nil, "plimsoll restore"
	}
}

func (s Stopping) bounded() {
	for _, w := range []io.Writer{s.Out, s.Err} {
		if w, ok := w.(*Writer); ok {
			w.BoundWrites()
		}
	}
}

// say tells the user what is not restored yet, and reports whether the user can have seen it.
func (s Stopping) say(cause error, left []string, later string, keys bool) bool {
	text := fmt.Sprintf("\nplimsoll: %v\n", cause)
	if s.Left != nil {
		text = fmt.Sprintf("\nplimsoll: %v; putting back %s\n", cause, phrase(left))
	}
	if keys && s.Left != nil {
		text += fmt.Sprintf("plimsoll: Ctrl-C once more leaves at once; then run: %s\n", later)
	}
	fmt.Fprint(s.Err, text)
	w, ok := s.Err.(*Writer)
	return !ok || !w.dropped()
}

func phrase(left []string) string {
	if len(left) == 0 {
		return "what was changed"
	}
	return strings.Join(left, ", ")
}

// closed is closed when the output is, if that should stop the program.
func (s Stopping) closed(w io.Writer) <-chan struct{} {
	if out, ok := w.(*Writer); ok && s.Readers {
		return out.Closed()
	}
	return nil
}

// stopped is why a signal cancelled a context.
type stopped struct {
	By os.Signal // nil if the output was closed
}

// Error says what stopped the program.
func (s stopped) Error() string {
	switch s.By {
	case nil:
		return "stopped because its output was closed"
	case os.Interrupt:
		return "stopped by Ctrl-C"
	case syscall.SIGHUP:
		return "stopped because its terminal was closed (SIGHUP)"
	}
	return "stopped by signal " + s.By.String()
}

// Is reports whether the target is context.Canceled.
func (s stopped) Is(target error) bool { return target == context.Canceled }
