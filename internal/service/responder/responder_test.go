package responder

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service/servicetest"
)

// TestMain runs the responder if this process was started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Command {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if err := Serve(ctx, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	loadtest.Parallel(4)
	os.Exit(m.Run())
}

func here(t *testing.T) platform.Machine {
	t.Helper()
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p.Machine()
}

func TestContract(t *testing.T) {
	t.Parallel()
	servicetest.Run(t, Kind(), servicetest.Options{
		Machine: here(t),
		Settings: []parameter.Settings{
			nil,
			{"tls": "true", "threads": "2", "pages": "3", "page_size": "10KiB", "images": "2"},
			{"tls": "true", "http2": "true", "law": "fixed", "service": "2ms"},
			{"http2": "true", "images": "0"},
			{"law": "exponential", "service": "1ms", "servers": "2", "stall": "20ms", "period": "100ms"},
		},
	})
}

func TestSettingsThatContradict(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"service": "1ms"}, "need a law"},
		{parameter.Settings{"servers": "2"}, "need a law"},
		{parameter.Settings{"law": "fixed"}, "set service"},
		{parameter.Settings{"stall": "1s"}, "leaves nothing"},
		{parameter.Settings{"period": "0s"}, "at least 1ms"},
		{parameter.Settings{"stall": "1s", "period": "1s"}, "leaves nothing"},
		{parameter.Settings{"fail": "60%", "reset": "50%"}, "more than 100%"},
		{parameter.Settings{"pages": "10000", "page_size": "1MiB"}, "do not fit"},
	} {
		if _, err := Kind().New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v, want %q", c.settings, err, c.want)
		}
	}
}
