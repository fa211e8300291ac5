package postgresql

import (
	"os"
	"path/filepath"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platform/local"
	"plimsoll/internal/service/servicetest"
)

func here(t *testing.T) platform.Machine {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start the real postgres")
	}
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
	servicetest.Run(t, Kind(), servicetest.Options{
		Machine:    here(t),
		Unobserved: []string{"address", "user", "password", "database", "ca", "tls_verify"},
		Settings: []parameter.Settings{
			{"tls": "true"},
			{
				"shared_buffers": "64MiB", "effective_cache_size": "512MiB", "work_mem": "1MiB", "maintenance_work_mem": "16MiB", "huge_pages": "off",
				"max_connections": "20", "fsync": "false", "synchronous_commit": "off", "full_page_writes": "false", "wal_compression": "pglz",
				"wal_buffers": "1MiB", "min_wal_size": "64MiB", "max_wal_size": "256MiB", "checkpoint_timeout": "1m", "checkpoint_completion_target": "50%",
				"random_page_cost": "1.1", "effective_io_concurrency": "2", "autovacuum": "false", "jit": "false",
			},
		},
	})
}

// reachable is a folder that does not exist yet, which the account nobody can enter.
func reachable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "instance")
}
