package ssh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/agent/program"
	"plimsoll/internal/agent/remote"
	"plimsoll/internal/agent/scratch"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/platforms/platformtest"
)

// A copy of the test under the agent's name is an agent.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != program.Name {
		os.Exit(m.Run())
	}
	if len(os.Args) == 2 {
		fmt.Println(program.Name, "test")
		return
	}
	if err := agent(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

type stdio struct{ *os.File }

func (s stdio) Write(p []byte) (int, error) { return os.Stdout.Write(p) }

func agent(dir string) error {
	folder, err := scratch.Take(dir)
	if err != nil {
		return err
	}
	folder.Sweep(func(string) error { return nil })
	p, err := local.Kind().Open(context.Background(), nil, 0)
	if err == nil {
		err = remote.Server{Machine: p.Machine()}.Serve(context.Background(), stdio{os.Stdin})
		if errors.Is(err, io.EOF) {
			err = nil
		}
		err = errors.Join(err, p.Close())
	}
	return errors.Join(err, folder.Remove())
}

// own is this very program, as the agent.
func own(string) (string, error) { return os.Executable() }

// pretended puts an ssh into the path that "logs in" to this machine, with a login
// shell that greets its user.
func pretended(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GORACE", "atexit_sleep_ms=0") // agents under the race detector end without delay
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

const logIn = `while [ "$1" != -- ]; do shift; done
shift 2
echo "Welcome. You have mail."
exec sh -c "$1"
`

func nothingLeft(t *testing.T, folder string) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		left, err := filepath.Glob(folder + "/*")
		if err == nil && len(left) == 0 {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("left: %v, %v", left, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestContract(t *testing.T) {
	pretended(t, logIn)
	folder := t.TempDir()
	platformtest.Run(t, kind(own), platformtest.Options{Settings: parameter.Settings{"host": "pretended", "folder": folder}})
	nothingLeft(t, folder)
}

func TestSettingsAreChecked(t *testing.T) {
	for what, s := range map[string]parameter.Settings{
		"requires the setting host": {},
		"name of a host":            {"host": "-oProxyCommand=evil"},
		"name of a user":            {"host": "h", "user": "-x"},
		"absolute path":             {"host": "h", "folder": "tmp"},
		"without quotes":            {"host": "h", "folder": "/tmp/'x"},
		"ProxyCommand":              {"host": "h", "options": `["ProxyCommand=evil"]`},
		"set others in the user's":  {"host": "h", "options": `["StrictHostKeyChecking=no"]`},
	} {
		if _, err := kind(own).Open(t.Context(), s, 1); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v: got %v, want %q", s, err, what)
		}
	}
}

func TestArguments(t *testing.T) {
	s := Settings{Host: "web", User: "me", Port: 2222, Identity: "/k", Options: []string{"ProxyJump=gate", "ConnectTimeout=3"}}
	got := strings.Join(s.args(), " ")
	for _, want := range []string{"BatchMode=yes", "StrictHostKeyChecking=yes", "-o ProxyJump=gate", "-p 2222", "-l me", "-i /k", "-- web"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
	if strings.Index(got, "StrictHostKeyChecking") > strings.Index(got, "ProxyJump") || strings.Index(got, "ConnectTimeout=3") > strings.Index(got, "ConnectTimeout=15") {
		t.Errorf("ssh takes the first of an option: %s", got)
	}
}

func TestTroubleIsNamed(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"refused", `echo "Host key verification failed." >&2; exit 255`, "compare the key"},
		{"another system", `cat <<X
plimsoll Darwin arm64
X
read -r x`, "64-bit Linux"},
		{"no folder", strings.Replace(logIn, "exec sh", "umask 777; exec sh", 1), "connect to h by ssh"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pretended(t, c.script)
			folder := filepath.Join(t.TempDir(), "absent")
			_, err := kind(own).Open(t.Context(), parameter.Settings{"host": "h", "folder": folder}, 1)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// An agent that cannot be copied whole is not started, and its folder goes.
func TestTheConnectionBreaksWhileTheAgentIsCopied(t *testing.T) {
	pretended(t, strings.Replace(logIn, `exec sh -c "$1"`, `head -c 100000 | sh -c "$1"`, 1))
	folder := t.TempDir()
	_, err := kind(own).Open(t.Context(), parameter.Settings{"host": "h", "folder": folder}, 1)
	if err == nil {
		t.Fatal("half an agent was started")
	}
	nothingLeft(t, folder)
}

// A lost connection is made again.
func TestTheConnectionIsMadeAgain(t *testing.T) {
	pretended(t, logIn)
	folder := t.TempDir()
	p, err := kind(own).Open(t.Context(), parameter.Settings{"host": "h", "folder": folder}, 1)
	if err != nil {
		t.Fatal(err)
	}
	m := p.Machine().(*machine)
	r, err := m.Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", "kill -KILL $PPID; sleep 100"}})
	if err == nil {
		t.Errorf("the agent was killed, and the command says %+v", r)
	}
	r, err = m.Run(t.Context(), platform.Command{Argv: []string{"echo", "again"}})
	if err != nil || string(r.Stdout) != "again\n" {
		t.Errorf("got %+v, %v", r, err)
	}
	if left, err := filepath.Glob(folder + "/*"); err != nil || len(left) != 1 {
		t.Errorf("what the dead agent left was not removed: %v, %v", left, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if _, err := m.Run(t.Context(), platform.Command{Argv: []string{"true"}}); !errors.Is(err, remote.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	nothingLeft(t, folder)
}
