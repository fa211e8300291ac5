package mariadb

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/mysql"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
	"plimsoll/internal/service/servicetest"
	"plimsoll/internal/wire"
)

func here(t *testing.T) platform.Machine {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start the real mariadbd")
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
			{"innodb_log_file_size": "8MiB", "tls": "true"},
			{
				"innodb_buffer_pool_size": "64MiB", "innodb_log_file_size": "16MiB", "innodb_log_buffer_size": "4MiB", "innodb_flush_log_at_trx_commit": "2",
				"innodb_flush_method": "fsync", "innodb_doublewrite": "false", "innodb_io_capacity": "1000", "innodb_flush_neighbors": "0",
				"innodb_adaptive_hash_index": "true", "innodb_lock_wait_timeout": "5s", "log_bin": "true", "sync_binlog": "1", "max_connections": "20",
				"thread_handling": "pool-of-threads", "thread_cache_size": "8", "table_open_cache": "400", "tmp_table_size": "1MiB",
				"sort_buffer_size": "256KiB", "transaction_isolation": "READ-COMMITTED", "performance_schema": "true",
			},
		},
	})
}

// reachable is the path of a new folder that the user nobody can access.
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

// start starts a server, and stops it at the end of the test.
func start(t *testing.T, m platform.Machine, settings parameter.Settings) (service.Instance, error) {
	t.Helper()
	s, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.Start(t.Context(), service.Env{Machine: m, Dir: reachable(t), Log: t.Logf})
	if err == nil {
		t.Cleanup(func() {
			if err := i.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	return i, err
}

// shouting is a server of another protocol.
func shouting(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
			conn.Close()
		}
	}()
	return l.Addr().String()
}

// An existing server outlives the instance. Servers of other protocols and refused logins are
// reported.
func TestRealForeign(t *testing.T) {
	m := here(t)
	own, err := start(t, m, parameter.Settings{"innodb_log_file_size": "8MiB", "sort_buffer_size": "1MiB"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := own.Endpoint(protocol)
	if err != nil {
		t.Fatal(err)
	}
	account(t, e)
	t.Setenv("PLIMSOLL_TEST_SECRET", "hush")
	guest, err := start(t, m, parameter.Settings{"address": e.Address, "user": "clerk", "password": "env:PLIMSOLL_TEST_SECRET", "database": "shop"})
	if err != nil {
		t.Fatal(err)
	}
	observed, err := guest.Observed(t.Context())
	if err != nil || observed["sort_buffer_size"] != "1MiB" || observed["address"] != e.Address {
		t.Errorf("got %v, %v", observed, err)
	}
	counts, err := guest.Counters(t.Context())
	if err != nil || len(counts) != len(metrics()) || counts["mariadb.statements"] <= 0 {
		t.Errorf("got %v, %v", counts, err)
	}
	if err := guest.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := own.Counters(t.Context()); err != nil {
		t.Errorf("it was ended by one who only used it: %v", err)
	}
	t.Setenv("PLIMSOLL_TEST_WRONG", "loud")
	for want, settings := range map[string]parameter.Settings{
		"does not speak the protocol": {"address": shouting(t)},
		"Access denied for user":      {"address": e.Address, "user": "clerk", "password": "env:PLIMSOLL_TEST_WRONG"},
		"Unknown database":            {"address": e.Address, "database": "none"},
		"the variable is not set":     {"address": e.Address, "password": "env:PLIMSOLL_NOT_SET"},
		"nothing listens at":          {"address": "127.0.0.1:1"},
	} {
		if _, err := start(t, m, settings); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v gives %v", settings, err)
		}
	}
}

// account creates a user with a password, and a database.
func account(t *testing.T, e load.Endpoint) {
	t.Helper()
	s, err := mysql.Dial(t.Context(), wire.Target{Network: e.Network, Address: e.Address, User: e.User}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Exec(t.Context(), "CREATE DATABASE shop; CREATE USER clerk IDENTIFIED BY 'hush'; GRANT ALL ON *.* TO clerk"); err != nil {
		t.Fatal(err)
	}
}
