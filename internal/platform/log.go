package platform

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Log receives one line for each command that was run and each file that was
// written on a machine.
type Log func(line string)

type logKey struct{}

// WithLog makes machines with the context log their actions.
func WithLog(ctx context.Context, log Log) context.Context {
	return context.WithValue(ctx, logKey{}, log)
}

func logOf(ctx context.Context) Log {
	log, _ := ctx.Value(logKey{}).(Log)
	return log
}

// LogCommand logs a command; the returned function logs its exit. Standard input and
// environment are left out, since they may contain secrets.
func LogCommand(ctx context.Context, machine string, argv []string) (ended func(Result, error)) {
	log := logOf(ctx)
	if log == nil {
		return func(Result, error) {}
	}
	began := time.Now()
	return func(r Result, err error) {
		end := fmt.Sprintf("exit %d", r.Exit)
		switch {
		case err != nil:
			end = "failed: " + err.Error()
		case r.Signal != "":
			end = r.Signal
		}
		log(fmt.Sprintf("%s: run %s (%s, %s)", machine, oneLine(argv), time.Since(began).Round(time.Millisecond), end))
	}
}

// Write is a file that was written on a machine.
type Write struct {
	Machine, Name string
	Data          []byte
	Err           error
}

// LogWrite logs a file that was written: its text where the kernel reads it, which
// is a setting, else its size alone.
func LogWrite(ctx context.Context, w Write) {
	log := logOf(ctx)
	if log == nil {
		return
	}
	what := fmt.Sprintf("%d bytes", len(w.Data))
	if strings.HasPrefix(w.Name, "/sys/") || strings.HasPrefix(w.Name, "/proc/") {
		what = Quote([]string{strings.TrimSpace(string(w.Data))})
	}
	end := ""
	if w.Err != nil {
		end = " (failed: " + w.Err.Error() + ")"
	}
	log(fmt.Sprintf("%s: write %s to %s%s", w.Machine, what, w.Name, end))
}

// LogStart logs the start of a long-running program, such as a guest.
func LogStart(ctx context.Context, machine string, argv []string) {
	if log := logOf(ctx); log != nil {
		log(fmt.Sprintf("%s: start %s", machine, oneLine(argv)))
	}
}

// plain are the characters that a shell leaves alone.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,%+-@"

// Quote writes a command so that a shell reads the same arguments back.
func Quote(argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		if a == "" || strings.Trim(a, plain) != "" {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		quoted[i] = a
	}
	return strings.Join(quoted, " ")
}

// oneLine is a command on one line: a script has several.
func oneLine(argv []string) string { return strings.ReplaceAll(Quote(argv), "\n", `\n`) }
