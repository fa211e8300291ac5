package vcenter

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platform/local"
	"plimsoll/internal/service/servicetest"
)

// TestMain is the simulator's process where it is started as one.
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
	servicetest.Run(t, Kind(), servicetest.Options{
		Machine:    here(t),
		Unobserved: []string{"address", "user", "password", "cluster", "thumbprint", "ca"},
		Settings: []parameter.Settings{
			{"hosts": "4", "vms": "20"},
			{"hosts": "2", "vms": "0", "time": "10ms", "spread": "30%", "per_host": "2"},
		},
	})
}

func TestSettingsThatContradict(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"user": "operator"}, "require address"},
		{parameter.Settings{"spread": "10%"}, "spread requires time"},
		{parameter.Settings{"address": "vc.example:443"}, "needs user and password"},
		{parameter.Settings{"address": "vc.example:443", "user": "o", "password": "sesame"}, "not the password itself"},
		{parameter.Settings{"address": "vc.example:443", "user": "o", "password": "env:P", "hosts": "3"}, "hosts cannot be set"},
		{parameter.Settings{"address": "vc.example:443", "user": "o", "password": "env:P", "ca": "/ca.pem", "thumbprint": "AB"}, "mutually exclusive"},
		{parameter.Settings{"address": "vc.example:443", "user": "o", "password": "env:P", "ca": "ca.pem"}, "absolute path"},
		{parameter.Settings{"address": "/run/vc", "user": "o", "password": "env:P"}, "host:port"},
	} {
		if _, err := Kind().New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%v gives %v, want %q", c.settings, err, c.want)
		}
	}
	if _, err := Kind().New(parameter.Settings{"address": "vc.example:443", "user": "o", "password": "env:P", "cluster": "DC/C", "thumbprint": "AB"}); err != nil {
		t.Error(err)
	}
}
