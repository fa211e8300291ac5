package agent_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/agent/toolbox"
)

// run calls a program of the toolbox.
func run(t *testing.T, stdin string, argv ...string) (exit int, stdout, stderr string) {
	t.Helper()
	var out, complaints bytes.Buffer
	exit, known := toolbox.Run(argv[0], toolbox.Call{Args: argv[1:], Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &complaints})
	if !known {
		t.Fatalf("there is no %s", argv[0])
	}
	return exit, out.String(), complaints.String()
}

// theirs calls the program of the distribution.
func theirs(t *testing.T, stdin string, argv ...string) (exit int, stdout string) {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Skipf("the machine has no %s to compare with", argv[0])
	}
	c := exec.Command(path, argv[1:]...)
	c.Stdin = strings.NewReader(stdin)
	c.Env = []string{"LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	text, err := c.Output()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(text)
}

// tree is a folder with something of each kind.
func tree(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.MkdirAll(dir+"/full/deep", 0o755), os.Mkdir(dir+"/empty", 0o755), os.WriteFile(dir+"/file", []byte("one\ntwo\n"), 0o640),
		os.WriteFile(dir+"/full/deep/x", nil, 0o644), os.WriteFile(dir+"/.hidden", nil, 0o644), os.Symlink("file", dir+"/link"), os.Symlink("nowhere", dir+"/broken"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What plimsoll asks of a machine is answered as the distribution's programs answer it,
// on a folder of its own each, which is afterwards the same.
func TestAsTheDistribution(t *testing.T) {
	t.Parallel()
	for _, call := range []string{
		"true", "echo a  b", "nproc", "cat D/file", "cat D/file D/nowhere", "cat", "ls D", "ls D/nowhere", "ls D/file/x", "test -e D/file", "test -e D/broken", "test -d D/full", "test -d D/file",
		"test -w D", "test -f D/link", "mkdir D/new", "mkdir -p -- D/a/b/c", "mkdir D/full", "mkdir D/no/where", "rmdir -- D/empty", "rmdir D/full", "rmdir --ignore-fail-on-non-empty -- D/full",
		"rm -f -- D/file D/nowhere", "rm D/nowhere", "rm D/full", "rm -rf -- D/full", "rm -f D/link", "readlink -e -- D/link", "readlink -e -- D/broken", "readlink -e -- D/full/../file",
		"stat -c %s|%n|%b|%B -- D/file D/link", "stat -L -c %s|%d|%m -- D/link", "stat -c %s D/nowhere", "stat -L -c %d|%m -- /proc/self/status", "stat -f -c %T|%a|%S -- /proc",
		"tee -- D/written", "install -m 755 /dev/stdin D/program", "install -m 600 D/file D/copy", "install D/file D/full/deep/x", "install D/nowhere D/x", "install -m 755 /dev/stdin D/no/where", "tee -- D/no/where", "truncate --size=123456 -- D/sparse", "truncate --size=3 -- D/file",
		"sync", "id -u", "id -g", "id -u no-such-user", "id -u nobody", "id -g nobody", "id -g root", "chown 0:0 -- D/file", "chown 0:0 -- D/nowhere", "mkdir -m 711 -- D/own", "mkdir -m 700 D/full", "ln -s -- file D/other", "ln -s -- file D/link", "ln -s -- x D/no/where",
	} {
		t.Run(call, func(t *testing.T) {
			ours, other := tree(t), tree(t)
			argv := func(dir string) []string { return strings.Fields(strings.ReplaceAll(call, "D", dir)) }
			exit, out, complaint := run(t, "typed\n", argv(ours)...)
			want, wantOut := theirs(t, "typed\n", argv(other)...)
			if exit != want {
				t.Errorf("exit status %d, want %d: %s", exit, want, complaint)
			}
			if got, want := strings.ReplaceAll(out, ours, "D"), strings.ReplaceAll(wantOut, other, "D"); got != want && !strings.HasPrefix(call, "echo") {
				t.Errorf("it prints %q, want %q", got, want)
			}
			if got, want := listing(t, ours), listing(t, other); !slices.Equal(got, want) {
				t.Errorf("the folder holds %q, want %q", got, want)
			}
			if exit != 0 && want == 1 && !strings.HasPrefix(call, "test") && !strings.HasPrefix(call, "readlink") && complaint == "" {
				t.Error("it says nothing of what is wrong")
			}
		})
	}
}

func listing(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		size := int64(0)
		if err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
		out = append(out, strings.TrimPrefix(path, dir)+" "+info.Mode().String()+" "+string(rune('0'+size%10)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What it is not made for it refuses, and does nothing.
func TestRefusals(t *testing.T) {
	dir := tree(t)
	before := listing(t, dir)
	for _, argv := range [][]string{
		{"id", "-u", "root", "nobody"}, {"rm", "-rf", "/"}, {"rm", "-rf", "--", dir + "/full/../../../../../../../.."}, {"rm", "--recursive", dir}, {"rm"}, {"cat", "-n", dir + "/file"}, {"ls", "-l", dir}, {"stat", dir},
		{"stat", "-c", "%y", dir}, {"test", dir}, {"test", "-S", dir}, {"truncate", "--size=-1", dir + "/file"}, {"truncate", dir + "/file"}, {"kill", "-TERM", "1"}, {"kill", "-HUP", "99"}, {"mkdir", "-m", "rwx", dir + "/x"}, {"mkdir", "-p", "-m", "700", dir + "/x"}, {"id"},
		{"readlink", dir + "/link"}, {"ln", dir + "/file", dir + "/hard"}, {"mount", "/dev/null", dir}, {"mount", "-o", "loop", "-t", "ext4", "x", dir}, {"sync", "now"}, {"chown", "nobody", "--", dir + "/file"}, {"chown", "0:0"}, {"chown", "-R", "0:0", dir},
		{"setpriv", "--reuid=1", "--regid=1", "--clear-groups", "true"}, {"setpriv", "--reuid=nobody", "--regid=1", "--clear-groups", "--pdeathsig", "keep", "--", "true"}, {"setpriv", "--reuid=1", "--regid=1", "--clear-groups", "--pdeathsig", "keep", "--"},
	} {
		if exit, out, complaint := run(t, "", argv...); exit != 2 || complaint == "" || out != "" {
			t.Errorf("%q: exit status %d, %q", argv, exit, complaint)
		}
	}
	if after := listing(t, dir); !slices.Equal(before, after) {
		t.Errorf("the folder changed: %q", after)
	}
	if _, known := toolbox.Run("sh", toolbox.Call{}); known || slices.Contains(toolbox.Names(), "sh") {
		t.Error("there is a shell")
	}
}
