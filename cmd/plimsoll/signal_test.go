package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/hosttest"
)

// stage is a folder in which a study of this host runs under a shell, with the host under watch.
type stage struct {
	*rig
	host *hosttest.Host
	cmd  *exec.Cmd
	gone chan error
	pty  *pty
}

// slow is a setting that takes as long to be put back as a user needs to lose patience.
const slow = `commands:
  slow: {read: cat level, apply: "echo {level} >level", restore: "sleep 4; echo {level} >level"}
`

// newStage prepares a study that changes a setting and a control group of this host.
func newStage(t *testing.T) *stage {
	// Where the tests run under nohup, SIGHUP is ignored in what they start; a signal that is handled is not.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	r := newRig(t)
	r.long()
	return &stage{rig: r, host: hosttest.Watch(t, r.dir)}
}

// long makes the study longer than any test.
func (r *rig) long() {
	name := filepath.Join(r.dir, "study.yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		r.t.Fatal(err)
	}
	more := strings.Replace(string(text), "blocks: 3", "blocks: 60", 1)
	more = strings.Replace(more, "factors:\n", "factors:\n  host.quota: [\"0.5\"]\n", 1)
	if err := os.WriteFile(name, []byte(more), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// start runs a script in a process group of its own, in which plimsoll is found.
func (s *stage) start(script string) {
	s.t.Helper()
	s.cmd = s.shell(script)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.await()
}

// terminal does the same on a terminal.
func (s *stage) terminal(script string) {
	s.t.Helper()
	s.cmd = s.shell(script)
	s.pty = openPTY(s.t, s.cmd)
	s.await()
}

func (s *stage) shell(script string) *exec.Cmd {
	c := exec.Command("sh", "-c", script)
	c.Dir = s.dir
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(s.dir, "state"))
	return c
}

func (s *stage) await() {
	s.gone = make(chan error, 1)
	go func() { s.gone <- s.cmd.Wait() }()
	s.until(s.gone, "a trial began", func() bool { return s.setting() != s.former && len(s.ended("out")) > 0 })
}

// group signals the whole process group, as a terminal does.
func (s *stage) group(signal syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(-s.cmd.Process.Pid, signal); err != nil {
		s.t.Fatal(err)
	}
}

// lab signals plimsoll alone.
func (s *stage) lab(signal syscall.Signal) {
	s.t.Helper()
	if err := syscall.Kill(s.number("lock"), signal); err != nil {
		s.t.Fatal(err)
	}
}

// number is the process number that a file holds.
func (s *stage) number(file string) (pid int) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "out", file))
	if err == nil {
		_, err = fmt.Sscan(string(text), &pid)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// other finds a process of the group by its program.
func (s *stage) other(program string) int {
	s.t.Helper()
	names, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, name := range names {
		text, _ := os.ReadFile(name)
		var pid int
		if _, err := fmt.Sscanf(name, "/proc/%d/comm", &pid); err != nil || strings.TrimSpace(string(text)) != program {
			continue
		}
		if group, err := syscall.Getpgid(pid); err == nil && group == s.cmd.Process.Pid {
			return pid
		}
	}
	s.t.Fatalf("there is no %s", program)
	return 0
}

// kill ends another process of the group, and waits until it is gone.
func (s *stage) kill(program string, signal syscall.Signal) {
	s.t.Helper()
	pid := s.other(program)
	if err := syscall.Kill(pid, signal); err != nil {
		s.t.Fatal(err)
	}
	for syscall.Kill(pid, 0) == nil {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		<-time.After(time.Millisecond)
	}
}

// ends waits for the end of everything that was started, and returns the exit status.
func (s *stage) ends() int {
	s.t.Helper()
	select {
	case <-s.gone:
	case <-time.After(time.Minute):
		s.t.Fatal("it does not end")
	}
	return s.cmd.ProcessState.ExitCode()
}

// unharmed wants the host to be as it was, with nothing to restore, and a run that can go on.
func (s *stage) unharmed() {
	s.t.Helper()
	s.host.Unchanged(s.t)
	if out := s.must("restore"); !strings.Contains(out, "nothing to restore") {
		s.t.Errorf("restore: %s", out)
	}
	if len(s.ended("out")) == 0 {
		s.t.Error("no trial is left")
	}
}

// said is what plimsoll wrote to a file.
func (s *stage) said(file string) string {
	text, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil {
		return ""
	}
	return string(text)
}

const running = "plimsoll run study.yaml --out out --seed 3"

// Whatever signal, closed pipe or closed terminal ends a run: the host is as it was.
func TestNoSignalLeavesTheHostChanged(t *testing.T) {
	exec := "exec " + running
	for _, test := range []struct {
		name   string
		script string
		do     func(s *stage)
		exit   int
		log    string // what is in the file log
	}{
		{"hangup", exec + " 2>log", func(s *stage) { s.lab(syscall.SIGHUP) }, cli.ExitTrouble, "stopped because its terminal was closed (SIGHUP)"},
		{"quit", exec + " 2>log", func(s *stage) { s.lab(syscall.SIGQUIT) }, cli.ExitTrouble, "stopped by signal quit"},
		{"CPU time", exec + " 2>log", func(s *stage) { s.lab(syscall.SIGXCPU) }, cli.ExitTrouble, "stopped by signal CPU time limit exceeded"},
		{"terminated twice", exec + " 2>log", func(s *stage) {
			s.lab(syscall.SIGTERM)
			<-time.After(20 * time.Millisecond)
			_ = syscall.Kill(s.cmd.Process.Pid, syscall.SIGTERM) // it may have ended
		}, cli.ExitTrouble, "stopped by signal terminated; to continue: plimsoll resume out"},
		{"interrupted repeatedly by a program", exec + " 2>log", func(s *stage) {
			for range 20 {
				_ = syscall.Kill(s.cmd.Process.Pid, syscall.SIGINT) // it may have ended
				<-time.After(10 * time.Millisecond)
			}
		}, cli.ExitTrouble, "stopped by Ctrl-C; putting back host.quota (none), host.sysctl:net.ipv4.tcp_fin_timeout ("},
		{"all of them", exec + " 2>log", func(s *stage) {
			for _, one := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGALRM} {
				_ = syscall.Kill(s.cmd.Process.Pid, one) // it may have ended
			}
		}, cli.ExitTrouble, "; to continue: plimsoll resume out"},
		{"timeout", "timeout 4 " + running + " 2>log", func(*stage) {}, 124, "stopped by signal terminated"},
		{"timeout that kills later", "timeout -s INT -k 30 4 " + running + " 2>log", func(*stage) {}, 124, "stopped by Ctrl-C"},
		{"Ctrl-C with tee", running + " 2>&1 | tee log", func(s *stage) { s.group(syscall.SIGINT) }, -1, ""},
		{"Ctrl-C after tee has died", running + " 2>&1 | tee log; sleep 1", func(s *stage) {
			s.kill("tee", syscall.SIGINT)
			_ = syscall.Kill(s.number("lock"), syscall.SIGINT) // it may have ended
		}, 0, ""},
		{"tee dies", running + " 2>&1 | tee log", func(s *stage) { s.kill("tee", syscall.SIGKILL) }, 137, ""},
		{"head", running + " 2>&1 | head -1", func(*stage) {}, 0, ""},
		{"output to a full disk", running + " --set measure.blocks=2 >/dev/full 2>log", func(*stage) {}, cli.ExitTrouble, "write output: write /dev/stdout: no space left on device"},
		{"all output to a full disk", running + " --set measure.blocks=2 >/dev/full 2>&1", func(*stage) {}, cli.ExitTrouble, ""},
		{"suspended", exec + " 2>log", func(s *stage) {
			s.lab(syscall.SIGTSTP)
			<-time.After(300 * time.Millisecond)
			s.lab(syscall.SIGTERM)
			s.lab(syscall.SIGCONT)
		}, cli.ExitTrouble, "stopped by signal terminated"},
		{"hangup under nohup", "nohup " + running + " --set measure.blocks=2 >log 2>&1", func(s *stage) { s.lab(syscall.SIGHUP) }, cli.ExitDone, "report: out/report.html"},
		{"a reader who does not read", running + " 2>&1 | sleep 20", func(s *stage) { s.lab(syscall.SIGTERM); s.kill("sleep", syscall.SIGTERM) }, 143, ""},
		{"resume", "timeout -s KILL 4 " + running + " >log 2>&1; exec plimsoll resume out 2>log", func(s *stage) {
			ended := 0
			s.until(s.gone, "resumed", func() bool {
				if s.cmd.Process.Pid == s.number("lock") {
					return len(s.ended("out")) > ended && s.setting() != s.former
				}
				ended = len(s.ended("out")) // by the run that is killed
				return false
			})
			s.lab(syscall.SIGHUP)
		}, cli.ExitTrouble, "stopped because"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !contained(t) {
				return
			}
			s := newStage(t)
			s.start(test.script)
			test.do(s)
			if exit := s.ends(); exit != test.exit {
				t.Errorf("exit status %d, want %d: %s", exit, test.exit, s.said("log"))
			}
			s.unharmed()
			if !strings.Contains(s.said("log"), test.log) {
				t.Errorf("it does not say %q: %s", test.log, s.said("log"))
			}
		})
	}
}

func TestNoTerminalLeavesTheHostChanged(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		if !contained(t) {
			return
		}
		s := newStage(t)
		s.terminal("exec " + running)
		s.pty.master.Close()
		s.ends()
		s.unharmed()
	})
	t.Run("closed in an interactive shell", func(t *testing.T) {
		if !contained(t) {
			return
		}
		s := newStage(t)
		s.terminal("exec sh -ic '" + running + "; true'")
		s.pty.master.Close()
		s.ends()
		s.unharmed()
	})
	t.Run("Ctrl-C", func(t *testing.T) {
		if !contained(t) {
			return
		}
		s := newStage(t)
		s.terminal("exec " + running)
		before := s.pty.flags(t)
		s.pty.press(t, 3)
		if exit := s.ends(); exit != cli.ExitTrouble || !s.pty.shows("stopped by Ctrl-C; putting back") {
			t.Errorf("exit status %d: %s", exit, s.pty.text())
		}
		if after := s.pty.flags(t); after != before {
			t.Errorf("the terminal has flags %#x, it had %#x", after, before)
		}
		s.unharmed()
	})
	t.Run("Ctrl-C twice at once and by programs", func(t *testing.T) {
		if !contained(t) {
			return
		}
		s := slowStage(t)
		s.pty.press(t, 3)
		s.pty.press(t, 3)
		s.until(s.gone, "it says so", func() bool { return s.pty.shows("stopped by Ctrl-C") })
		for range 10 {
			s.group(syscall.SIGINT)
			<-time.After(100 * time.Millisecond)
		}
		s.ends()
		s.unharmed()
	})
	t.Run("Ctrl-C once more", func(t *testing.T) {
		if !contained(t) {
			return
		}
		s := slowStage(t)
		before := s.pty.flags(t)
		s.pty.press(t, 3)
		s.until(s.gone, "it says so", func() bool { return s.pty.shows("Ctrl-C once more leaves at once; then run: plimsoll restore") })
		s.impatient()
		if exit := s.ends(); exit != cli.ExitTrouble || !s.pty.shows("left at once. Not put back: ") {
			t.Errorf("exit status %d: %s", exit, s.pty.text())
		}
		if after := s.pty.flags(t); after != before {
			t.Errorf("the terminal has flags %#x, it had %#x", after, before)
		}
		if out := s.must("restore"); !strings.Contains(out, "command.slow") {
			t.Errorf("nothing was left: %s", out)
		}
		s.unharmed()
	})
}

// impatient types Ctrl-C until plimsoll has gone.
func (s *stage) impatient() {
	s.t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-s.gone:
			s.gone <- err
			return
		case <-tick.C:
			s.pty.press(s.t, 3)
		}
	}
}

// slowStage runs a study on a terminal whose setting takes seconds to be put back.
func slowStage(t *testing.T) *stage {
	s := newStage(t)
	name := filepath.Join(s.dir, "study.yaml")
	text := s.said("study.yaml")
	text = slow + strings.Replace(text, "factors:\n", "factors:\n  command.slow: [\"1\"]\n", 1)
	text = strings.Replace(strings.ReplaceAll(text, ">level", ">"+s.dir+"/level"), "cat level", "cat "+s.dir+"/level", 1)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "level"), []byte("0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s.terminal("exec " + running)
	return s
}

// restore itself goes on when it is asked to stop, whatever becomes of its output.
func TestRestoreIsNotStopped(t *testing.T) {
	for name, script := range map[string]string{
		"timeout": "timeout 1 plimsoll restore", "closed pipe": "plimsoll restore 2>&1 | true", "no output": "plimsoll restore >&- 2>&-",
		"hangup and a full disk": "timeout -s HUP 1 plimsoll restore >/dev/full 2>&1",
	} {
		t.Run(name, func(t *testing.T) {
			if !contained(t) {
				return
			}
			s := slowStage(t)
			s.lab(syscall.SIGKILL)
			s.ends()
			_ = s.shell(script).Run() // its status is that of timeout, or of a full disk
			s.unharmed()
		})
	}
}
