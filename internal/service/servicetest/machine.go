package servicetest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// watched is a machine that counts the daemons that run on it, and can start
// another program instead of one.
type watched struct {
	platform.Machine
	instead []string
	begun   func() // called when a daemon is about to run

	running sync.WaitGroup
}

func watch(m platform.Machine) *watched { return &watched{Machine: m} }

// Self makes it a platform.Carrier, which any machine of these tests is.
func (w *watched) Self(ctx context.Context) (string, error) {
	c, ok := w.Machine.(platform.Carrier)
	if !ok {
		return "", errors.ErrUnsupported
	}
	return c.Self(ctx)
}

// Run takes a command that can be stopped for a daemon.
func (w *watched) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	if c.Stop == nil {
		return w.Machine.Run(ctx, c)
	}
	w.running.Add(1)
	defer w.running.Done()
	if w.instead != nil {
		c.Argv = w.instead
	}
	if w.begun != nil {
		w.begun()
	}
	return w.Machine.Run(ctx, c)
}

// wait waits until no daemon runs.
func (w *watched) wait(t *testing.T, limit time.Duration) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		w.running.Wait()
		close(ended)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
		t.Fatal("the daemon still runs")
	}
}

// nothingIsLeft looks for processes and files.
func (s *suite) nothingIsLeft(t *testing.T, m *watched, env service.Env) {
	t.Helper()
	m.wait(t, s.options.Promptly)
	if exists(t, env.Dir) {
		t.Errorf("%s is left", env.Dir)
	}
	if left := processesIn(t, env.Dir); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

func exists(t *testing.T, name string) bool {
	t.Helper()
	_, err := os.Lstat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// processesIn lists the processes whose working folder is dir, or was before dir
// was removed. Zombies have none.
func processesIn(t *testing.T, dir string) []int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, link := range links {
		at, err := os.Readlink(link)
		if at = strings.TrimSuffix(at, " (deleted)"); err != nil || at != dir && !strings.HasPrefix(at, dir+"/") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
}
