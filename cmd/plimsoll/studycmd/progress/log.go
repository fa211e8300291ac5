package progress

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"plimsoll/cmd/plimsoll/cli"

	"plimsoll/internal/escape"
	"plimsoll/internal/platform"
)

// logging makes machines log what they do, to standard error, to a file, or to both.
func (o Options) logging(ctx context.Context) (logging context.Context, done func() error, err error) {
	var file *os.File
	if o.Log != "" {
		if file, err = os.OpenFile(o.Log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
			return nil, nil, cli.Mistake(fmt.Errorf("open the log: %w", err))
		}
	}
	if file == nil && !o.Verbose {
		return ctx, func() error { return nil }, nil
	}
	var mu sync.Mutex
	var lost error
	logging = platform.WithLog(ctx, func(line string) {
		line = escape.Line(line) // errors hold text from elsewhere, and one entry is one line
		mu.Lock()
		defer mu.Unlock()
		if o.Verbose {
			fmt.Fprintln(o.Screen.Err, line)
		}
		if file == nil || lost != nil {
			return
		}
		_, lost = fmt.Fprintf(file, "%s %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), line)
	})
	return logging, func() error {
		mu.Lock()
		defer mu.Unlock()
		if file != nil && lost == nil {
			lost = file.Close()
		}
		if lost != nil {
			return fmt.Errorf("write the log: %w", lost)
		}
		return nil
	}, nil
}
