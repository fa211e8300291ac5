package postgresql

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
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

// A server whose processes were all killed leaves nothing, whether its instance is stopped or
// plimsoll is killed as well and restore cleans up.
func TestRealKilledLeavesNothing(t *testing.T) {
	m := here(t)
	for name, clear := range map[string]func(i service.Instance, dir string) error{
		"stop": func(i service.Instance, _ string) error { return i.Stop(t.Context()) },
		"restore": func(_ service.Instance, dir string) error {
			return service.Release(t.Context(), m, dir, Kind().Release)
		},
	} {
		i, dir, err := startIn(t, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := i.Counters(t.Context()); err != nil {
			t.Fatal(err)
		}
		pids := processes(t, dir)
		left := map[string]bool{}
		for _, pid := range pids {
			maps, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/maps") // an autovacuum process may have ended
			for line := range strings.Lines(string(maps)) {
				if _, file, ok := strings.Cut(strings.TrimSpace(line), " /dev/shm/"); ok {
					folder, _, _ := strings.Cut(file, "/")
					left["/dev/shm/"+folder] = true
				}
			}
		}
		if len(pids) < 4 || len(left) == 0 {
			t.Fatalf("%s: the server has processes %v, which share %v", name, pids, left)
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if err := clear(i, dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for file := range left {
			if _, err := os.Lstat(file); err == nil {
				t.Errorf("%s: %s is left", name, file)
			}
		}
	}
}

// processes are those whose working directory is the folder or below.
func processes(t *testing.T, dir string) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range all {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, dir+"/") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// A server that is abandoned during initdb leaves no segment.
func TestRealGivenUpLeavesNoSegment(t *testing.T) {
	m := here(t)
	for _, patience := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond} {
		s, err := Kind().New(nil)
		if err != nil {
			t.Fatal(err)
		}
		dir := reachable(t)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		i, err := s.Start(ctx, service.Env{Machine: m, Dir: dir, Log: t.Logf})
		cancel()
		if err == nil {
			_ = i.Stop(t.Context())
			continue
		}
		table, err := os.ReadFile("/proc/sysvipc/shm")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(table)) {
			// key shmid perms size cpid lpid nattch: a segment without processes, from the
			// last seconds
			f := strings.Fields(line)
			if len(f) < 14 || f[3] != "56" || f[6] != "0" {
				continue
			}
			if made, err := strconv.ParseInt(f[13], 10, 64); err == nil && time.Since(time.Unix(made, 0)) < 2*time.Second {
				t.Errorf("after %s there is %s", patience, line)
			}
		}
	}
}

// initdb maps its shared memory from files in the instance's folder: POSIX shared memory would
// stay if it were killed.
func TestRealMakingSharesNoPosixMemory(t *testing.T) {
	m := here(t)
	dir := reachable(t)
	stop, watched := make(chan struct{}), make(chan map[string]bool)
	go func() {
		seen := map[string]bool{}
		for {
			select {
			case <-stop:
				watched <- seen
				return
			case <-time.After(time.Millisecond):
				sharedFiles(dir, seen)
			}
		}
	}()
	s, err := Kind().New(nil)
	if err != nil {
		t.Fatal(err)
	}
	i, err := s.Start(t.Context(), service.Env{Machine: m, Dir: dir, Log: t.Logf})
	close(stop)
	seen := <-watched
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if seen["/dev/shm/PostgreSQL"] || !seen["pg_dynshmem"] {
		t.Errorf("its processes shared %v", seen)
	}
}

// sharedFiles collects the shared memory mapped by processes that work in a folder, but for those by which initdb finds out how much memory
// there is: they use POSIX memory whatever the settings, for milliseconds.
func sharedFiles(dir string, seen map[string]bool) {
	all, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range all {
		if to, err := os.Readlink(link); err != nil || !strings.HasPrefix(to, dir+"/") {
			continue
		}
		if argv, _ := os.ReadFile(filepath.Dir(link) + "/cmdline"); strings.Contains(string(argv), "\x00--check\x00") {
			continue
		}
		maps, _ := os.ReadFile(filepath.Dir(link) + "/maps") // the process may have ended
		for _, what := range []string{"/dev/shm/PostgreSQL", "pg_dynshmem"} {
			seen[what] = seen[what] || strings.Contains(string(maps), what)
		}
	}
}
