package engine_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/enginetest"
	"plimsoll/internal/workload/engine"
)

// A server answers, keeps what it was told over an end and a kill, and tells nobody who
// speaks another protocol where it is.
func TestRealServers(t *testing.T) {
	enginetest.Each(t, func(t *testing.T, s *enginetest.Server) {
		c := s.Dial(t, "")
		if err := c.Exec(t.Context(), "CREATE DATABASE kept"); err != nil {
			t.Fatal(err)
		}
		for _, how := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
			s.End(t, how)
			if _, err := engine.Dial(t.Context(), s.Server(t), "kept"); !engine.Gone(err) {
				t.Errorf("after %s: %v", how, err)
			}
			s.Begin(t)
			if rows, err := s.Dial(t, "kept").Query(t.Context(), "SELECT 1"); err != nil || len(rows) != 1 {
				t.Errorf("after %s: %v, %v", how, rows, err)
			}
		}
		if n := strings.Count(s.Log(), map[string]string{engine.PostgreSQL: "starting PostgreSQL", engine.MariaDB: "Starting MariaDB"}[s.Protocol]); n != 3 {
			t.Errorf("the log has %d of 3 starts:\n%s", n, s.Log())
		}
		s.Signal(syscall.SIGSTOP)
		s.Signal(syscall.SIGCONT)
		if _, err := s.Dial(t, "").Query(t.Context(), "SELECT 1"); err != nil {
			t.Error(err)
		}
		if at, err := s.Target("cql"); err == nil {
			t.Errorf("it is said to be at %+v for another protocol", at)
		}
	})
}

// A server of PostgreSQL that was killed and did not come back leaves no shared memory when
// its test is over.
func TestRealKilledLeavesNothing(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	var maker string
	t.Run("killed", func(t *testing.T) {
		s := enginetest.Start(t, enginetest.Setup{Protocol: engine.PostgreSQL})
		maker = fmt.Sprint(s.PID())
		if maps := read("/proc/" + maker + "/maps"); strings.Contains(maps, "/dev/shm/") {
			t.Errorf("the server has files outside its folder:\n%s", maps)
		}
		s.End(t, syscall.SIGKILL)
	})
	for line := range strings.Lines(read("/proc/sysvipc/shm")) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == maker { // cpid
			t.Errorf("shared memory is left: %s", line)
		}
	}
}
