package redis

import (
	"os"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
	"plimsoll/internal/service/servicetest"
)

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

func TestRealContract(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start the real redis-server")
	}
	servicetest.Run(t, Kind(), servicetest.Options{
		Machine:    here(t),
		Unobserved: []string{"address"},
		Settings: []parameter.Settings{
			nil,
			{"maxmemory": "64MiB", "maxmemory_policy": "allkeys-lru", "io_threads": "2", "appendonly": "true", "appendfsync": "no", "save": "3600 1 300 100", "hz": "100"},
		},
	})
}

// An existing server outlives the instance.
func TestRealForeign(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start the real redis-server")
	}
	s, err := Kind().New(parameter.Settings{"hz": "50"})
	if err != nil {
		t.Fatal(err)
	}
	env := service.Env{Machine: here(t), Dir: t.TempDir() + "/instance", Log: t.Logf}
	own, err := s.Start(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	e, err := own.Endpoint("redis")
	if err != nil {
		t.Fatal(err)
	}
	guest, err := used(t, e.Address).Start(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	observed, err := guest.Observed(t.Context())
	if err != nil || observed["hz"] != "50" || observed["address"] != e.Address {
		t.Errorf("got %v, %v", observed, err)
	}
	if err := guest.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := own.Counters(t.Context()); err != nil {
		t.Errorf("it was ended by one who only used it: %v", err)
	}
	if err := own.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
