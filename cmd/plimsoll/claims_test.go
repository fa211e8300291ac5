package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/hosttest"
)

// secureShell is an sshd on loopback; it returns the platform of a study that logs in there.
func secureShell(t *testing.T, dir string) string {
	t.Helper()
	const program = "/usr/sbin/sshd"
	if _, err := os.Stat(program); err != nil {
		t.Skip("sshd is not installed: nothing was tested")
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, key := range []string{"host", "user"} {
		sh(t, "ssh-keygen -q -t ed25519 -N '' -f "+in(key))
	}
	config := fmt.Sprintf("Port 2222\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n", in("host"), in("user.pub"))
	for name, text := range map[string]string{"config": config, "known": "[127.0.0.1]:2222 " + value(t, in("host.pub")) + "\n"} {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := new(bytes.Buffer)
	c := exec.Command(program, "-D", "-e", "-f", in("config"))
	c.Stderr = log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("sshd: %s", log)
		}
	})
	deadline := time.After(20 * time.Second)
	for {
		if conn, err := net.Dial("tcp", "127.0.0.1:2222"); err == nil {
			_ = conn.Close()
			return fmt.Sprintf("platform: {ssh: {host: 127.0.0.1, port: 2222, user: root, identity: %s, options: [UserKnownHostsFile=%s], folder: %s}}", in("user"), in("known"), dir)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			t.Fatalf("sshd does not listen: %s", log)
		}
	}
}

// agents are the processes of plimsoll's agent.
func agents(t *testing.T) (pids []int) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		pid := 0
		text, _ := os.ReadFile(file)
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err == nil && bytes.Contains(text, []byte("/plimsoll-agent\x00serve\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// withPrograms has plimsoll's agent built before a test is contained, which may not see the module, in a folder beside the test's own
// program, which is plimsoll and has a name there as well. It returns the folder.
func withPrograms(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(self), "programs")
	if os.Getenv("PLIMSOLL_REAL") != "" && !hosttest.Inside() && hosttest.Lacking() == "" {
		t.Cleanup(func() { _ = os.RemoveAll(dir) }) // go test removes all that is there
		sh(t, "mkdir "+dir+" && ln "+self+" "+dir+"/plimsoll && cd $(go list -m -f '{{.Dir}}') && ./build agent "+dir+"/plimsoll-agent")
	}
	return dir
}

// A setting of a host is one run's, whether its lab is on the host or reaches it by ssh. The setting of a lab that dies is free once the agent has put it
// back, and that of an agent that dies is kept for the run that puts it back.
func TestOneSettingBySSHAndHere(t *testing.T) {
	bin := withPrograms(t)
	if !contained(t) {
		return
	}
	former := kept(t, finTimeout)
	l := newLab(t)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	here := studyOf("host.sysctl:net.ipv4.tcp_fin_timeout", two(t, former)...)
	l.write("here.yaml", here)
	l.write("ssh.yaml", strings.Replace(here, "platform: local", secureShell(t, l.dir), 1))
	sh(t, "mkdir -m 700 /var/lib/plimsoll/undo")
	host := hosttest.Watch(t, l.dir, filepath.Dir(os.Args[0])) // go test writes beside the test binary
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	setting := finTimeout + " "
	refused := func(want string) {
		t.Helper()
		for _, study := range []string{"here.yaml", "ssh.yaml"} {
			said := l.plimsoll(2, "run", study, "--quiet", "--out", "second")
			if !strings.Contains(said, setting+want) || strings.Count(said, "\n") != 1 {
				t.Errorf("%s: %s, want %s", study, said, want)
			}
			if _, err := os.Stat(filepath.Join(l.dir, "second")); err == nil {
				t.Errorf("%s: a run that was refused left its results folder", study)
			}
		}
	}
	far := func(c *exec.Cmd, folder string) string {
		return fmt.Sprintf("(process %d on %s, results folder %s/%s): ", c.Process.Pid, name, l.dir, folder)
	}
	c, _ := l.start("run", "ssh.yaml", "--quiet", "--out", "a")
	l.until(finTimeout, former)
	refused("is in use by another run " + far(c, "a") + "wait until it ends")
	l.kill(c)
	deadline := time.After(time.Minute)
	for len(agents(t)) > 0 {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			t.Fatal("the agent goes on")
		}
	}
	if now := value(t, finTimeout); now != former {
		t.Fatalf("the agent left tcp_fin_timeout at %s, it was %s", now, former)
	}
	c, out := l.start("run", "here.yaml", "--quiet", "--out", "b")
	l.until(finTimeout, former)
	refused(fmt.Sprintf("is in use by another run (process %d of user 0, results folder %s/b): wait", c.Process.Pid, l.dir))
	l.plimsoll(2, "restore", "a")
	_ = c.Process.Signal(os.Interrupt)
	l.ended(c, out, 3)
	l.plimsoll(0, "restore", "a")

	// The agent is killed, and then its lab.
	c, _ = l.start("run", "ssh.yaml", "--quiet", "--out", "c")
	l.until(finTimeout, former)
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for _, pid := range agents(t) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	l.kill(c)
	if value(t, finTimeout) == former {
		t.Log("the agent was killed between two changes: the setting of a dead agent was not tested")
	} else if said := l.plimsoll(2, "run", "here.yaml", "--quiet", "--out", "second"); !strings.Contains(said, setting+"was changed by a run that died before it put it back "+far(c, "c")+"on that host, plimsoll restore "+l.dir+"/c") {
		t.Errorf("beside a dead agent: %s", said)
	}
	l.plimsoll(0, "restore", "c")
	if now := value(t, finTimeout); now != former {
		t.Errorf("tcp_fin_timeout is %s, it was %s", now, former)
	}
	c, out = l.start("run", "ssh.yaml", "--quiet", "--out", "d")
	l.until(finTimeout, former)
	_ = c.Process.Signal(os.Interrupt)
	l.ended(c, out, 3)
	host.Unchanged(t)
}
