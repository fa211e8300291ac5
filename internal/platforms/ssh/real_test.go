package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/diagnosis"
	"plimsoll/internal/diagnosis/checkup"
	"plimsoll/internal/hoststat/watch"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/platformtest"
)

// server is a real sshd on a free port, with keys of its own.
type server struct {
	dir      string
	settings parameter.Settings
	folder   string // for the agent
	log      *bytes.Buffer
}

func keygen(t *testing.T, name string) {
	t.Helper()
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", name).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func free(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func sshd(t *testing.T) *server {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to log in to an ssh server that the test starts")
	}
	program, err := exec.LookPath("sshd")
	if err != nil {
		if program = "/usr/sbin/sshd"; !isFile(program) {
			t.Skip("sshd is not installed: nothing was tested")
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // sshd wants it for its own separation
			t.Fatal(err)
		}
	}
	s := &server{dir: t.TempDir(), folder: t.TempDir(), log: &bytes.Buffer{}}
	in := func(name string) string { return filepath.Join(s.dir, name) }
	keygen(t, in("host"))
	keygen(t, in("user"))
	public, err := os.ReadFile(in("user.pub"))
	if err != nil {
		t.Fatal(err)
	}
	port := free(t)
	write := func(name, text string) {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("authorized", string(public))
	write("config", fmt.Sprintf("Port %d\nListenAddress 127.0.0.1\nHostKey %s\nAuthorizedKeysFile %s\nPidFile none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n",
		port, in("host"), in("authorized")))
	key, err := os.ReadFile(in("host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	write("known", fmt.Sprintf("[127.0.0.1]:%d %s", port, key))
	cmd := exec.Command(program, "-D", "-e", "-f", in("config"))
	cmd.Stderr = s.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("sshd: %s", s.log)
		}
	})
	s.settings = parameter.Settings{
		"host": "127.0.0.1", "port": strconv.Itoa(port), "user": me.Username, "identity": in("user"),
		"options": fmt.Sprintf(`["UserKnownHostsFile=%s"]`, in("known")), "folder": s.folder,
	}
	for deadline := time.After(10 * time.Second); ; {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = c.Close()
			return s
		}
		select {
		case <-deadline:
			t.Fatalf("sshd does not listen: %v\n%s", err, s.log)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// built is the real agent.
func built(t *testing.T) func(string) (string, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "plimsoll-agent")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version=real", "-o", name, "plimsoll/cmd/plimsoll-agent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(string) (string, error) { return name, nil }
}

func TestRealContract(t *testing.T) {
	s := sshd(t)
	platformtest.Run(t, kind(built(t)), platformtest.Options{Settings: s.settings})
	nothingLeft(t, s.folder)
}

func TestRealUnknownHostIsRefused(t *testing.T) {
	s := sshd(t)
	if err := os.WriteFile(filepath.Join(s.dir, "known"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := kind(own).Open(t.Context(), s.settings, 1)
	if err == nil || !strings.Contains(err.Error(), "compare the key") {
		t.Errorf("got %v", err)
	}
	nothingLeft(t, s.folder)
}

func TestRealForeignKeyIsRefused(t *testing.T) {
	s := sshd(t)
	keygen(t, filepath.Join(s.dir, "other"))
	s.settings["identity"] = filepath.Join(s.dir, "other")
	if _, err := kind(own).Open(t.Context(), s.settings, 1); err == nil || !strings.Contains(err.Error(), "denied") {
		t.Errorf("got %v", err)
	}
}

// The lab's ssh is killed: what it ran ends, and the agent removes itself.
func TestRealNothingIsLeftWhenTheLabDies(t *testing.T) {
	s := sshd(t)
	begun := time.Now()
	p, err := kind(built(t)).Open(t.Context(), s.settings, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("opened after %s", time.Since(begun).Round(time.Millisecond))
	m := p.Machine().(*machine)
	begun = time.Now()
	const calls = 200
	for range calls {
		if _, err := m.ReadFile(t.Context(), "/proc/loadavg"); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("a file in %s", (time.Since(begun) / calls).Round(time.Microsecond))
	begun = time.Now()
	const size = 64 << 20
	r, err := m.Run(t.Context(), platform.Command{Argv: []string{"head", "-c", strconv.Itoa(size), "/dev/zero"}})
	if err != nil || len(r.Stdout) != size {
		t.Errorf("%d bytes, %v", len(r.Stdout), err)
	}
	t.Logf("output at %.0f MB/s", size/time.Since(begun).Seconds()/1e6)
	pid := make(chan string, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := m.Run(context.Background(), platform.Command{Argv: []string{"sh", "-c", "sleep 300 & echo $!; wait"}, Stdout: firstLine(pid)})
		ended <- err
	}()
	child := <-pid
	if err := m.tunnel.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	begun = time.Now()
	if err := <-ended; err == nil {
		t.Error("a command survived its lab")
	}
	nothingLeft(t, s.folder)
	if text, err := os.ReadFile("/proc/" + child + "/stat"); err == nil && !strings.Contains(string(text), ") Z ") {
		t.Errorf("process %s goes on: %s", child, text)
	}
	t.Logf("gone after %s", time.Since(begun).Round(time.Millisecond))
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// firstLine hands on the first line of an output.
type firstLine chan string

func (f firstLine) Write(p []byte) (int, error) {
	line, _, _ := strings.Cut(string(p), "\n")
	select {
	case f <- line:
	default:
	}
	return len(p), nil
}

// crowd makes a listening socket with a backlog of 1 and more connections than it takes.
func crowd(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	address := &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: free(t)}
	if err := errors.Join(syscall.Bind(fd, address), syscall.Listen(fd, 1)); err != nil {
		t.Fatal(err)
	}
	for range 12 {
		c, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Close(c) })
		if err := syscall.Connect(c, address); err != nil && !errors.Is(err, syscall.EINPROGRESS) {
			t.Fatal(err)
		}
	}
}

// A check finds a full listen queue on this host and on the same host behind ssh at once, and
// does not take the session for a program of the host.
func TestRealCheck(t *testing.T) {
	s := sshd(t)
	p, err := kind(built(t)).Open(t.Context(), s.settings, 1)
	if err != nil {
		t.Fatal(err)
	}
	crowd(t)
	var far *watch.Answer
	here := watch.Here()
	targets := []checkup.Target{
		{Name: "here", Watch: func(ctx context.Context, job watch.Job) (*watch.Answer, error) { return here.Watch(ctx, job, nil) }},
		{Name: "there", Watch: func(ctx context.Context, job watch.Job) (_ *watch.Answer, err error) {
			far, err = watch.There(ctx, p.Machine(), job)
			return far, err
		}},
	}
	r, err := checkup.Run(t.Context(), targets, watch.Job{Every: 500 * time.Millisecond, Length: 4 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	subject := fmt.Sprintf("ssh.test (%d)", os.Getpid())
	for _, host := range []string{"here", "there"} {
		if !slices.ContainsFunc(r.Findings, func(f checkup.Finding) bool {
			return f.Host == host && f.Rule == "listen_queue" && f.Subject == subject && f.Confidence == diagnosis.Certain
		}) {
			t.Errorf("%s: %+v", host, r.Findings)
		}
	}
	if len(far.Own) < 3 || slices.Contains(far.Own, os.Getpid()) || slices.Contains(far.Own, 1) {
		t.Errorf("own processes %v", far.Own)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	begun := time.Now()
	early, err := watch.There(ctx, p.Machine(), watch.Job{Every: 200 * time.Millisecond, Length: time.Minute})
	if err != nil || len(early.Recording.Intervals) < 2 || time.Since(begun) > 20*time.Second {
		t.Errorf("a watch that ends early: %v after %v", err, time.Since(begun))
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, s.folder)
}
