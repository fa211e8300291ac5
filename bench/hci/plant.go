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

// cluster is a cluster that runs.
type cluster struct {
	dir  string
	osds []string // processes, in order
}

// clusterOf waits for the OSDs of a study.
func clusterOf(ctx context.Context, results string, n int) (cluster, error) {
	c := cluster{dir: filepath.Join(results, "scratch", "service", "ceph")}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		files, _ := filepath.Glob(filepath.Join(c.dir, "osd.*.pid"))
		slices.Sort(files)
		c.osds = nil
		for _, file := range files {
			if text, err := os.ReadFile(file); err == nil {
				c.osds = append(c.osds, strings.TrimSpace(string(text)))
			}
		}
		if len(c.osds) == n {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return c, errors.New("the OSDs never ran")
		case <-tick.C:
		}
	}
}

// option sets an option of all OSDs.
func (c cluster) option(s *scene.Scene, name, value string) error {
	_, err := s.Run("env", "-u", "CEPH_ARGS", "ceph", "--conf", filepath.Join(c.dir, "ceph.conf"), "--connect-timeout", "10", "tell", "osd.*", "config", "set", name, value)
	return err
}

// images sets an option of all images in a pool.
func (c cluster) images(s *scene.Scene, pool, name, value string) error {
	_, err := s.Run("env", "-u", "CEPH_ARGS", "rbd", "--conf", filepath.Join(c.dir, "ceph.conf"), "config", "pool", "set", pool, name, value)
	return err
}
