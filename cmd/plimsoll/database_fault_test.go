package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The services that the tests start, as small as they can be.
var smallDatabases = map[string]string{
	"postgresql": "{shared_buffers: 16MiB, max_wal_size: 64MiB, min_wal_size: 32MiB}",
	"mariadb":    "{innodb_buffer_pool_size: 16MiB, innodb_log_file_size: 8MiB}",
}

// underLoad is a study of a database on which something happens in its second trial.
type underLoad struct {
	*rig
	output  bytes.Buffer
	gone    chan error
	segment string // of memory that PostgreSQL shares among its processes: key and number
}

// startUnderLoad starts a study in a folder that every account can enter.
func startUnderLoad(t *testing.T, service, dir string, rows int) *underLoad {
	t.Helper()
	text := fmt.Sprintf(`study: fault
question: Does it go on?
platform: local
workload:
  oltp: {rows: %d, connections: 2, rate: 40/s, tick: 100ms, timeout: 500ms, test: write_only}
service: {%s: %s}
measure: {settle: 10ms, warmup: 100ms, window: 2s, longest: 3s, interval: 100ms, blocks: 2, retries: 100}
headline: [transactions]
`, rows, service, smallDatabases[service])
	if err := os.WriteFile(filepath.Join(dir, "study.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	u := &underLoad{rig: &rig{t: t, dir: dir}, gone: make(chan error, 1)}
	c := u.command("run", "study.yaml", "--out", "out", "--seed", "3")
	c.Stdout, c.Stderr = &u.output, &u.output
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { u.gone <- c.Wait() }()
	return u
}

// secondTrial waits until the second trial is under way.
func (u *underLoad) secondTrial() {
	u.until(u.gone, "the first trial had ended", func() bool {
		_, err := os.Stat(filepath.Join(u.dir, "out", "trials", "0001", "record.json"))
		return err == nil
	})
	<-time.After(700 * time.Millisecond)
	note, err := os.ReadFile(filepath.Join(u.dir, "out", "scratch", "service", "postgresql", "0", "data", "postmaster.pid"))
	if lines := strings.Split(string(note), "\n"); err == nil && len(lines) > 6 {
		u.segment = strings.Join(strings.Fields(lines[6]), " ")
	}
}

// servers are the processes that work in the folder of the service, the one first that
// started the others.
func (u *underLoad) servers() (pids []int) {
	u.t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		u.t.Fatal(err)
	}
	var parents []int
	for _, link := range links {
		at, err := os.Readlink(link)
		if err != nil || !strings.HasPrefix(at, filepath.Join(u.dir, "out", "scratch", "service")) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		pids = append(pids, pid)
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "stat")) // it may have ended
		if _, rest, ok := strings.Cut(string(status), ") "); ok {
			if f := strings.Fields(rest); len(f) > 1 {
				parent, _ := strconv.Atoi(f[1])
				parents = append(parents, parent)
			}
		}
	}
	slices.SortFunc(pids, func(a, b int) int {
		switch {
		case slices.Contains(parents, a):
			return -1
		case slices.Contains(parents, b):
			return 1
		}
		return a - b
	})
	return pids
}

// tell sends a signal to the first of the servers, or to all.
func (u *underLoad) tell(signal syscall.Signal, all bool) {
	u.t.Helper()
	pids := u.servers()
	if len(pids) == 0 {
		u.t.Fatal("no server runs")
	}
	if !all {
		pids = pids[:1]
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, signal); err != nil {
			u.t.Error(err)
		}
	}
}

// end waits for the end of the study, and looks that nothing is left of its servers. It
// returns what the terminal showed, and the causes for which trials are void.
func (u *underLoad) end() (said string, void []string, err error) {
	u.t.Helper()
	err = <-u.gone
	if left := u.servers(); len(left) > 0 {
		u.t.Errorf("processes %v are left", left)
	}
	if _, err := os.Stat(filepath.Join(u.dir, "out", "scratch")); err == nil {
		u.t.Error("the folder of the services is left")
	}
	table, missing := os.ReadFile("/proc/sysvipc/shm")
	if missing != nil {
		u.t.Fatal(missing)
	}
	for line := range strings.Lines(string(table)) {
		if u.segment != "" && strings.HasPrefix(strings.Join(strings.Fields(line), " "), u.segment+" ") {
			u.t.Errorf("its shared memory is left: %s", line)
		}
	}
	for n := 1; ; n++ {
		data, missing := os.ReadFile(filepath.Join(u.dir, "out", "trials", fmt.Sprintf("%04d", n), "record.json"))
		if missing != nil {
			return u.output.String(), void, err
		}
		var record struct{ Void string }
		if err := json.Unmarshal(data, &record); err != nil {
			u.t.Fatal(err)
		}
		void = append(void, record.Void)
	}
}

// reachable is a folder that every account can enter.
func reachable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "plimsoll-fault")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func eachDatabase(t *testing.T, test func(t *testing.T, service string)) {
	t.Helper()
	isReal(t, "start the real postgres and mariadbd")
	t.Parallel() // one database after the other: each takes a disk's worth of memory, or a CPU
	for service := range smallDatabases {
		t.Run(service, func(t *testing.T) { test(t, service) })
	}
}

// voided looks that a trial is void for a reason, of which the terminal tells in one line,
// and that a later one is not.
func (u *underLoad) voided(said string, void []string, want string) {
	u.t.Helper()
	at := slices.IndexFunc(void, func(cause string) bool { return strings.Contains(cause, want) })
	switch {
	case at < 0:
		u.t.Errorf("no trial is void because: %s: %q", want, void)
	case strings.Contains(void[at], "\n"):
		u.t.Errorf("the cause has several lines: %q", void[at])
	case !strings.Contains(said, "void: "+void[at]):
		u.t.Errorf("the terminal does not tell: %s", said)
	case !slices.Contains(void[at:], ""):
		u.t.Errorf("no trial after it counts: %q", void)
	}
}

// A database that is killed in the middle of a trial voids it, in one line that says so;
// the study goes on with a new one, and nothing of the old one is left.
func TestRealDatabaseIsKilled(t *testing.T) {
	eachDatabase(t, func(t *testing.T, service string) {
		u := startUnderLoad(t, service, reachable(t), 2000)
		u.secondTrial()
		u.tell(syscall.SIGKILL, false)
		said, void, err := u.end()
		if err != nil {
			t.Errorf("the study ended with %v: %s", err, said)
		}
		program := map[string]string{"postgresql": "postgres", "mariadb": "mariadbd"}[service]
		u.voided(said, void, "service "+service+": "+program+" was ended by signal SIGKILL: ")
	})
}

// One that hangs voids its trial as well, and is replaced.
func TestRealDatabaseHangs(t *testing.T) {
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_DEEP=1 to wait for a server that does not answer")
	}
	eachDatabase(t, func(t *testing.T, service string) {
		u := startUnderLoad(t, service, reachable(t), 2000)
		u.secondTrial()
		u.tell(syscall.SIGSTOP, true)
		said, void, err := u.end()
		if err != nil {
			t.Errorf("the study ended with %v: %s", err, said)
		}
		u.voided(said, void, "the server does not answer within 10s")
	})
}

// A disk on which there is no room left when the data comes ends the study, in one line that
// says so; nothing of the service is left on it.
func TestRealDatabaseFillsTheDisk(t *testing.T) {
	if !contained(t) { // so that nobody sees its file systems
		return
	}
	eachDatabase(t, func(t *testing.T, service string) {
		dir := reachable(t)
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1500m,mode=755"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		u := startUnderLoad(t, service, dir, 2_000_000)
		// The study found room enough; then somebody else takes it.
		u.until(u.gone, "the service has its folder", func() bool {
			_, err := os.Stat(filepath.Join(dir, "out", "scratch", "service"))
			return err == nil
		})
		others, err := os.Create(filepath.Join(dir, "others"))
		if err != nil {
			t.Fatal(err)
		}
		defer others.Close()
		if err := syscall.Fallocate(int(others.Fd()), 0, 0, 1330<<20); err != nil {
			t.Fatal(err)
		}
		said, _, err := u.end()
		if err == nil {
			t.Error("the study ended well")
		}
		_, said, _ = strings.Cut(said, "\nplimsoll: ")
		first, _, _ := strings.Cut(said, "\n")
		if !strings.HasPrefix(first, "trial 1: prepare workload oltp in ") || !strings.Contains(first, "fill the database plimsoll_oltp") {
			t.Errorf("the terminal does not tell: %s", said)
		}
	})
}
