package hci

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/bench/causes/scene"
)

// confine moves processes into a control group with a limit.
func confine(s *scene.Scene, controller string, pids []string, to func(*scene.Group) error) error {
	g, err := s.Group("plimsoll-osds", controller)
	if err != nil {
		return err
	}
	if err := to(g); err != nil {
		return err
	}
	for _, pid := range pids {
		err = errors.Join(err, g.Join(pid))
	}
	return err
}

// stutter stops a process half of the time, until the scene closes.
func stutter(s *scene.Scene, pid string) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return fmt.Errorf("stop process %q: %w", pid, err)
	}
	ctx, cancel := context.WithCancel(s)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(40 * time.Millisecond)
		defer tick.Stop()
		for stopped := false; ; stopped = !stopped {
			_ = syscall.Kill(n, map[bool]syscall.Signal{false: syscall.SIGCONT, true: syscall.SIGSTOP}[stopped]) // it may have ended
			select {
			case <-ctx.Done():
				_ = syscall.Kill(n, syscall.SIGCONT)
				return
			case <-tick.C:
			}
		}
	}()
	s.Undo(func() error {
		cancel()
		<-ended
		return nil
	})
	return nil
}

// diskOf is the disk under the folder of the scene.
func diskOf(s *scene.Scene) string {
	out, err := s.Run("df", "--output=source", s.Dir)
	if err != nil {
		return ""
	}
	lines := strings.Fields(out)
	return lines[len(lines)-1]
}

// osdsOf waits for the OSDs of a study, and returns their processes in order.
func osdsOf(ctx context.Context, results string, n int) ([]string, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		files, _ := filepath.Glob(filepath.Join(results, "scratch", "service", "ceph", "osd.*.pid"))
		slices.Sort(files)
		var pids []string
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				pids = append(pids, strings.TrimSpace(string(text)))
			}
		}
		if len(pids) == n {
			return pids, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.New("the OSDs never ran")
		case <-tick.C:
		}
	}
}
