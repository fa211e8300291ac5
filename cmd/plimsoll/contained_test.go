package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/hosttest"
)

// contained runs a test with the real binary on real settings of this host, in namespaces of its own; it answers false outside.
func contained(t *testing.T) bool {
	t.Helper()
	isReal(t, "change settings of this machine and put them back")
	return hosttest.Contain(t)
}

// alone is contained for settings that are in no namespace.
func alone(t *testing.T) bool {
	t.Helper()
	isReal(t, "change settings of this machine and put them back")
	return hosttest.ContainAlone(t)
}

// isReal skips a test unless real things are asked for.
func isReal(t *testing.T, to string) {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to " + to)
	}
}

// lab is a folder in which plimsoll runs.
type labRig struct {
	t   *testing.T
	dir string
}

func newLab(t *testing.T) *labRig { return &labRig{t, t.TempDir()} }

// write writes a study.
func (l *labRig) write(name, text string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
}

// study is one that varies a setting of this host and goes on until it is stopped.
func studyOf(factor string, levels ...string) string {
	return fmt.Sprintf(`study: changes
question: Is everything put back?
platform: local
workload:
  "null": {threads: 1}
factors:
  %s: [%s]
measure: {settle: 10ms, warmup: 50ms, window: 200ms, longest: 400ms, interval: 50ms, blocks: 200, retries: 1000}
headline: [operations]
`, factor, strings.Join(levels, ", "))
}

// start starts plimsoll. Its output is in the buffer once it has ended.
func (l *labRig) start(args ...string) (*exec.Cmd, *bytes.Buffer) {
	l.t.Helper()
	c, out := l.command(args...), new(bytes.Buffer)
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		l.t.Fatal(err)
	}
	return c, out
}

func (l *labRig) command(args ...string) *exec.Cmd {
	c := exec.CommandContext(l.t.Context(), "plimsoll", args...)
	c.Dir = l.dir
	return c
}

// plimsoll runs it to its end, which must have this exit status.
func (l *labRig) plimsoll(want int, args ...string) string {
	l.t.Helper()
	c, out := l.start(args...)
	l.ended(c, out, want)
	return out.String()
}

func (l *labRig) ended(c *exec.Cmd, out *bytes.Buffer, want int) {
	l.t.Helper()
	err := c.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		l.t.Fatal(err)
	}
	if got := c.ProcessState.ExitCode(); got != want {
		l.t.Errorf("plimsoll %s: exit status %d (%s), want %d\n%s", strings.Join(c.Args[1:], " "), got, c.ProcessState, want, out)
	}
}

// kill ends a run as a crash does.
func (l *labRig) kill(c *exec.Cmd) {
	l.t.Helper()
	if err := c.Process.Kill(); err != nil {
		l.t.Fatal(err)
	}
	_ = c.Wait()
}

// until waits for a file to differ from a value.
func (l *labRig) until(file, from string) {
	l.t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for value(l.t, file) == from {
		select {
		case <-tick.C:
		case <-deadline:
			l.t.Fatalf("%s stays at %q", file, from)
		}
	}
}

func value(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// kept has a setting put back at the end of a test, whatever happens in it.
func kept(t *testing.T, file string) string {
	t.Helper()
	former := value(t, file)
	t.Cleanup(func() {
		if value(t, file) != former {
			if err := os.WriteFile(file, []byte(former), 0o644); err != nil {
				t.Error(err)
			}
		}
	})
	return former
}

// two levels that are not the former one.
func two(t *testing.T, former string) []string {
	t.Helper()
	n, err := strconv.Atoi(former)
	if err != nil {
		t.Fatal(err)
	}
	return []string{strconv.Itoa(n - 1), strconv.Itoa(n - 2)}
}

func sh(t *testing.T, script string) {
	t.Helper()
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// A results folder that goes away stops the run at its next write: the host is put back, the exit status is 3, and a sentence says why.
func TestResultsFolderIsLost(t *testing.T) {
	if !contained(t) {
		return
	}
	former := kept(t, finTimeout)
	sh(t, "mkdir -m 700 /var/lib/plimsoll/undo")
	tests := []struct{ name, mount, do, undo string }{
		// The run still writes, so that a folder may fill again while rm empties it.
		{"removed", "", "until rm -rf out 2>/dev/null; do :; done", ""},
		{"replaced", "", "mv out away; mkdir out; echo >out/journal.jsonl", ""},
		{"replaced by a link", "", "mv out away; ln -s away out; rm away/journal.jsonl", ""},
		{"journal removed", "", "rm out/journal.jsonl", ""},
		{"mounted over", "", "mount -t tmpfs none out", "umount out"},
		{"read-only", "truncate -s 16M image && mkfs.ext4 -q image && mount -o loop,errors=remount-ro image", "echo broken >/sys/fs/ext4/$(basename $(findmnt -no SOURCE small))/trigger_fs_error", ""},
		{"full", "mount -t tmpfs -o size=2m none", "dd if=/dev/zero of=small/fill bs=1M 2>/dev/null; true", ""},
	}
	for _, test := range tests {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s killed=%v", test.name, killed), func(t *testing.T) {
				l := newLab(t)
				host := hosttest.Watch(t, l.dir)
				out := filepath.Join(l.dir, "out")
				unmount := func() {}
				if how := test.mount; how != "" {
					sh(t, "cd "+l.dir+" && mkdir small && "+how+" small")
					out, unmount = filepath.Join(l.dir, "small/out"), func() { sh(t, "umount "+l.dir+"/small") }
				}
				l.write("study.yaml", studyOf("host.sysctl:net.ipv4.tcp_fin_timeout", two(t, former)...))
				c, said := l.start("run", "study.yaml", "--quiet", "--out", out)
				l.until(finTimeout, former)
				if killed {
					// The kernel stops it before it can notice.
					_ = c.Process.Signal(syscall.SIGSTOP)
				}
				sh(t, "cd "+l.dir+" && "+test.do)
				if killed {
					l.kill(c)
					l.plimsoll(0, "restore")
				} else {
					l.ended(c, said, 3)
					if n := strings.Count(said.String(), "\n"); test.name != "full" && (n != 1 || !strings.Contains(said.String(), "the host is as it was")) {
						t.Errorf("it said in %d lines: %s", n, said)
					}
				}
				if test.undo != "" {
					sh(t, "cd "+l.dir+" && "+test.undo)
				}
				if said := l.plimsoll(0, "restore"); said != "nothing to restore\n" {
					t.Errorf("restore: %s", said)
				}
				unmount()
				host.Unchanged(t)
			})
		}
	}
}
