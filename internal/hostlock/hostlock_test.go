package hostlock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// The test binary runs again as a run that claims settings and holds them until its standard input ends.
func TestMain(m *testing.M) {
	if task := os.Getenv("HOSTLOCK_CHILD"); task != "" {
		part := strings.Split(task, "|")
		_, err := take(context.Background(), part[0], Claim{Run: part[1], Log: part[2], Names: part[3:]})
		fmt.Println(err)
		bufio.NewReader(os.Stdin).ReadString('\n')
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// holder starts a run in a process of its own.
func holder(t *testing.T, dir, run, log string, names ...string) *exec.Cmd {
	t.Helper()
	return hold(t, exec.Command(os.Args[0]), dir, run, log, names...)
}

func hold(t *testing.T, c *exec.Cmd, dir, run, log string, names ...string) *exec.Cmd {
	t.Helper()
	c.Env = append(os.Environ(), "HOSTLOCK_CHILD="+strings.Join(append([]string{dir, run, log}, names...), "|"))
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); c.Process.Kill(); c.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "<nil>\n" {
		t.Fatalf("the other run: %q, %v", line, err)
	}
	return c
}

func TestTwoRuns(t *testing.T) {
	dir, log := filepath.Join(t.TempDir(), "locks"), filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	other := holder(t, dir, "A", log, "a", "b")
	var held *HeldError
	if _, err := take(t.Context(), dir, Claim{Run: "B", Names: []string{"c", "b"}}); !errors.As(err, &held) || held.Name != "b" || held.Dead || held.Process != other.Process.Pid {
		t.Fatalf("while it lives: %v", err)
	}
	release, err := take(t.Context(), dir, Claim{Run: "B", Names: []string{"c"}})
	if err != nil {
		t.Fatal(err)
	}
	release()
	other.Process.Kill()
	other.Wait()
	if _, err := take(t.Context(), dir, Claim{Run: "B", Names: []string{"b"}}); !errors.As(err, &held) || !held.Dead {
		t.Fatalf("after it died: %v", err)
	}
	// The dead run itself takes its settings back.
	release, err = take(t.Context(), dir, Claim{Run: "A", Names: []string{"a", "b"}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	release()
	holder(t, dir, "C", log, "b").Process.Kill()
	os.Remove(log)
	// Once its undo log is gone, so is its claim.
	release, err = take(t.Context(), dir, Claim{Run: "B", Names: []string{"b"}})
	for err != nil && errors.As(err, &held) && !held.Dead { // it is being killed
		release, err = take(t.Context(), dir, Claim{Run: "B", Names: []string{"b"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	release()
	if _, err := os.Stat(dir); err == nil {
		t.Error("the last claim left the folder")
	}
}

// Of many that claim one setting at the same time, one at a time gets it.
func TestManyAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locks")
	var wait sync.WaitGroup
	var inside, got sync.Map
	for i := range 40 {
		wait.Go(func() {
			release, err := take(t.Context(), dir, Claim{Run: fmt.Sprint("R", i), Names: []string{"x"}, Log: t.Name()})
			var held *HeldError
			if errors.As(err, &held) && !held.Dead {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			if other, there := inside.LoadOrStore("x", i); there {
				t.Errorf("%d and %v have it", i, other)
			}
			got.Store(i, true)
			inside.Delete("x")
			release()
		})
	}
	wait.Wait()
	n := 0
	got.Range(func(any, any) bool { n++; return true })
	if n == 0 {
		t.Error("nobody got it")
	}
}

// What others put into the folder does no harm.
func TestForeignFilesInTheFolder(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(t.TempDir(), "precious")
	for name, do := range map[string]func(at string) error{
		"link":   func(at string) error { return os.Symlink(precious, at) },
		"RUN":    func(at string) error { return os.Symlink(precious, at) },
		"folder": func(at string) error { return os.Mkdir(at, 0o755) },
		"text":   func(at string) error { return os.WriteFile(at, []byte("{"), 0o644) },
	} {
		if err := do(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	release, err := take(t.Context(), dir, Claim{Run: "RUN", Names: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	release()
	if _, err := os.Stat(precious); err == nil {
		t.Error("a link was followed")
	}
	for _, run := range []string{"", "../x", "a/b", ".hidden"} {
		if _, err := take(t.Context(), dir, Claim{Run: run, Names: []string{"x"}}); err == nil {
			t.Errorf("run %q has a claim", run)
		}
	}
}

// The claim that an agent holds for a lab elsewhere stays after its release as long as the agent has something to put back.
func TestClaimForALab(t *testing.T) {
	dir, memory := filepath.Join(t.TempDir(), "locks"), filepath.Join(t.TempDir(), "changed.json")
	lab := Claim{Run: "A", Dir: "/a", Lab: "process 7 on lab1", Log: memory, Names: []string{"x"}}
	release, err := take(t.Context(), dir, lab)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(want string) {
		t.Helper()
		if _, err := take(t.Context(), dir, Claim{Run: "B", Names: []string{"x"}}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	refused("x is in use by another run (process 7 on lab1, results folder /a): wait until it ends")
	if err := os.WriteFile(memory, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	release()
	refused("x was changed by a run that died before it put it back (process 7 on lab1, results folder /a): on that host, plimsoll restore /a")
	// The run itself takes it back, here by two agents on the host.
	first, err := take(t.Context(), dir, lab)
	if err != nil {
		t.Fatal(err)
	}
	lab.Names = []string{"y", "x"}
	second, err := take(t.Context(), dir, lab)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(memory); err != nil {
		t.Fatal(err)
	}
	first()
	refused("x is in use by another run (process 7 on lab1, results folder /a): wait until it ends")
	second()
	if _, err := os.Stat(dir); err == nil {
		t.Error("the last claim left the folder")
	}
}

// A setting of a network namespace is another one in each. The namespace of a run that died
// does not come back, even if the kernel gives its inode to the next one.
func TestNetworkNamespaces(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes network namespaces")
	}
	const shared, own = "/proc/sys/vm/swappiness", "/proc/sys/net/ipv4/tcp_fin_timeout"
	dir, log := filepath.Join(t.TempDir(), "locks"), filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	const runs = 60 // enough for the kernel to give an inode a second time
	for n := range runs {
		names := []string{own}
		if n == runs-1 {
			names = []string{own, shared}
		}
		c := exec.Command(os.Args[0])
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		hold(t, c, dir, fmt.Sprint("R", n), log, names...)
		c.Process.Kill()
		c.Wait()
	}
	release, err := take(t.Context(), dir, Claim{Run: "B", Names: []string{own}})
	if err != nil {
		t.Fatal(err)
	}
	release()
	var held *HeldError
	if _, err := take(t.Context(), dir, Claim{Run: "B", Names: []string{own, shared}}); !errors.As(err, &held) || held.Name != shared {
		t.Errorf("a setting of the whole host: %v", err)
	}
	holder(t, dir, "C", log, own)
	if _, err := take(t.Context(), dir, Claim{Run: "B", Names: []string{own}}); !errors.As(err, &held) || held.Name != own {
		t.Errorf("the same namespace: %v", err)
	}
}
