package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/agent/program"
	"plimsoll/internal/agent/remote"
	"plimsoll/internal/agent/scratch"
	"plimsoll/internal/platform"
)

// What a test binary is started as says what it is: the agent, or the tests.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == programName {
		os.Exit(Main(os.Args, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestTheNameIsOne(t *testing.T) {
	if programName != program.Name {
		t.Errorf("the name is %q here and %q there", programName, program.Name)
	}
}

// The agent is copied into each guest and to each machine.
func TestTheAgentIsLean(t *testing.T) {
	list := exec.Command("go", "list", "-deps", ".")
	list.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		t.Skipf("no go command: %v", err)
	}
	for _, heavy := range []string{"cobra", "gonum", "parquet", "sqlite", "plimsoll/internal/report", "plimsoll/internal/study", "yaml", "nats"} {
		if strings.Contains(string(out), heavy) {
			t.Errorf("the agent contains %s", heavy)
		}
	}
}

// started is the agent on pipes, as ssh starts it, from a scratch folder.
type started struct {
	io.Reader
	io.WriteCloser
	cmd     *exec.Cmd
	scratch string
}

func launched(t *testing.T) *started {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &started{scratch: filepath.Join(t.TempDir(), scratch.Prefix+"test")}
	if err := os.Mkdir(s.scratch, 0o700); err != nil {
		t.Fatal(err)
	}
	agent := filepath.Join(s.scratch, programName)
	if err := os.Link(self, agent); err != nil {
		text, err := os.ReadFile(self)
		if err == nil {
			err = os.WriteFile(agent, text, 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s.cmd = exec.Command(agent, "serve", s.scratch)
	s.cmd.Stderr = os.Stderr
	if s.WriteCloser, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if s.Reader, err = s.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	return s
}

func TestServe(t *testing.T) {
	s := launched(t)
	m, err := remote.Connect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	self, err := m.Self(t.Context())
	if err != nil || self != filepath.Join(s.scratch, programName) {
		t.Errorf("self is %q, %v", self, err)
	}
	child := make(chan string, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := m.Run(context.Background(), platform.Command{
			Argv: []string{"sh", "-c", "sleep 300 & echo $!; wait"}, Stdout: firstLine(child),
		})
		ended <- err
	}()
	pid := <-child
	// A worker of the agent itself.
	r, err := m.Run(t.Context(), platform.Command{Argv: []string{self, "worker"}, Stdin: strings.NewReader(`{"workload":"none"}`), Worker: true})
	if err != nil || !strings.Contains(string(r.Stdout), "does not contain workload") {
		t.Errorf("worker: %+v, %v", r, err)
	}
	if err := m.Close(); err != nil { // as when the lab dies: nobody says goodbye
		t.Error(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the agent ended with %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("a command survived its lab")
	}
	if text, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !bytes.Contains(text, []byte(") Z ")) {
		t.Errorf("process %s goes on: %s", pid, text)
	}
	if _, err := os.Stat(s.scratch); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the scratch folder stays: %v", err)
	}
}

// A lab that dies does not put back what it has changed: the agent does.
func TestRealSettingsArePutBack(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to change a setting of this machine for a moment")
	}
	const setting = "/proc/sys/vm/dirty_expire_centisecs"
	before, err := os.ReadFile(setting)
	if err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(setting, before, 0); err != nil {
		t.Skipf("settings cannot be changed here: %v", err)
	}
	s := launched(t)
	m, err := remote.Connect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.WriteFile(t.Context(), setting, []byte("2987\n")); err != nil {
		t.Fatal(err)
	}
	if now, err := os.ReadFile(setting); err != nil || string(now) != "2987\n" {
		t.Errorf("the setting is %q, %v", now, err)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the agent ended with %v", err)
	}
	if after, err := os.ReadFile(setting); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the setting was %q and stays %q, %v", before, after, err)
	}
}

func TestServeRefusesFoldersOfOthers(t *testing.T) {
	dir := t.TempDir()
	if err := serve(dir); err == nil || !strings.Contains(err.Error(), "scratch") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error("a folder of somebody else was removed")
	}
}

func TestASignalEndsTheAgent(t *testing.T) {
	s := launched(t)
	if _, err := remote.Connect(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the agent goes on")
	}
	if _, err := os.Stat(s.scratch); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the scratch folder stays: %v", err)
	}
}

func TestUsage(t *testing.T) {
	var out, complaints bytes.Buffer
	if exit := Main([]string{programName, "run"}, &out, &complaints); exit != exitMistake || !strings.Contains(complaints.String(), "started by plimsoll") {
		t.Errorf("exit %d, %q", exit, complaints.String())
	}
	if exit := Main([]string{programName, "version"}, &out, &complaints); exit != exitDone || !strings.Contains(out.String(), version) {
		t.Errorf("exit %d, %q", exit, out.String())
	}
	out.Reset()
	if exit := Main([]string{"/bin/echo", "as", "there"}, &out, &complaints); exit != exitDone || out.String() != "as there\n" {
		t.Errorf("exit %d, %q", exit, out.String())
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
