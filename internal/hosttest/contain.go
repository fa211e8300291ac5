package hosttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// inside is the environment variable that tells a contained process so.
const inside = "PLIMSOLL_CONTAINED"

// lockFile keeps tests that change settings which are in no namespace apart from all other contained tests of a host.
const lockFile = "/tmp/.plimsoll-hosttest"

// enter makes the folders private and runs the rest of its arguments. It stays as the first process of its namespace and
// collects what others leave. A folder in keep, which tmpfs would hide, shows there again.
const enter = `set -e
mount --make-rprivate /
mount --rbind /sys/fs/cgroup /mnt
mount -t sysfs sysfs /sys
mount --rbind /mnt /sys/fs/cgroup
umount -l /mnt
mount -t proc proc /proc
while umount -l /run/netns 2>/dev/null; do :; done
mkdir -p /var/lib/plimsoll
mount -t tmpfs -o mode=1777 tmpfs /mnt
for dir in $keep; do
	mkdir -p "/mnt/${dir#/tmp/}"
	mount --bind "$dir" "/mnt/${dir#/tmp/}"
done
mount --rbind /mnt /tmp
umount -l /mnt
for dir in /dev/shm /run /var/tmp /var/lib/plimsoll; do mount -t tmpfs -o mode=1777 tmpfs $dir; done
ip link set lo up
unset keep
set +e
"$@"
exit $?`

// Lacking says why this process cannot contain others or change settings of the kernel; empty where it can.
func Lacking() string {
	if os.Geteuid() != 0 {
		return "only root may change settings of the host"
	}
	for _, name := range []string{"mount", "umount", "ip"} {
		if _, err := exec.LookPath(name); err != nil {
			return "there is no program " + name
		}
	}
	f, err := os.OpenFile("/proc/sys/vm/swappiness", os.O_WRONLY, 0)
	if err != nil {
		return fmt.Sprintf("settings of the kernel cannot be written: %v", err)
	}
	f.Close()
	if text, err := Command(context.Background(), "true").CombinedOutput(); err != nil {
		return fmt.Sprintf("no namespaces can be made: %v: %s", err, strings.TrimSpace(string(text)))
	}
	return ""
}

// Command is a program in namespaces of its own, with private temporary folders. It ends, with everything that it started, when the context
// does. The folders of the program and the working folder stay where they are; nothing else below /tmp does.
func Command(ctx context.Context, argv ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "sh", append([]string{"-c", enter, "sh"}, argv...)...)
	var keep []string
	cwd, _ := os.Getwd()
	for _, dir := range []string{filepath.Dir(argv[0]), cwd} {
		if strings.HasPrefix(dir, "/tmp/") {
			keep = append(keep, dir)
		}
	}
	c.Env = append(os.Environ(), inside+"=1", "TMPDIR=/tmp", "keep="+strings.Join(keep, " "))
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWNET,
		Pdeathsig:  syscall.SIGKILL,
	}
	c.WaitDelay = 5 * time.Second
	return c
}

// Inside says that this process is contained.
func Inside() bool { return os.Getenv(inside) != "" }

// Contain runs the calling test once more, contained, and answers true there. Outside it takes over the outcome and answers false. Without
// root, or where the kernel's settings cannot be written, the test is skipped with the reason. Such a test runs beside others, and so
// changes only settings that belong to a namespace: of the network, and control groups.
func Contain(t *testing.T) bool { return contain(t, syscall.LOCK_SH) }

// ContainAlone is Contain for tests that change settings of the kernel that are in no namespace: no other contained test of the host runs
// meanwhile.
func ContainAlone(t *testing.T) bool { return contain(t, syscall.LOCK_EX) }

func contain(t *testing.T, how int) bool {
	t.Helper()
	if Inside() {
		return true
	}
	if why := lacking(); why != "" {
		t.Skip(why)
	}
	t.Parallel() // it waits for processes more than it works
	release, err := lock(how)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	args := []string{self, "-test.run=" + exactly(t.Name()), "-test.v"}
	if deadline, ok := t.Deadline(); ok {
		args = append(args, "-test.timeout="+time.Until(deadline).Round(time.Second).String())
	}
	text, err := Command(ctx, args...).CombinedOutput()
	switch ended := outcome(t.Name(), string(text)); {
	case err != nil:
		t.Fatalf("contained: %v\n%s", err, text)
	case ended == "SKIP":
		t.Skipf("contained:\n%s", text)
	case ended != "PASS":
		t.Fatalf("contained: it did not run\n%s", text)
	}
	t.Logf("contained:\n%s", text)
	return false
}

// lacking is Lacking, asked once.
var lacking = sync.OnceValue(Lacking)

// exactly is the pattern of -test.run that one test matches, or one part of a test.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// outcome is what a program of tests says of one: PASS, SKIP or FAIL, and nothing where it did not run.
func outcome(name, text string) string {
	m := regexp.MustCompile(`(?m)^ *--- ([A-Z]+): ` + regexp.QuoteMeta(name) + ` \(`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return m[1]
}

// Exclusive waits until no contained test runs on this host, and keeps them out until the test ends: for tests that change settings of the
// kernel without being contained.
func Exclusive(t testing.TB) {
	t.Helper()
	release, err := Lock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
}

// Lock waits until no contained test runs on this host, and keeps them out until it is released.
func Lock() (release func(), err error) { return lock(syscall.LOCK_EX) }

func lock(how int) (release func(), err error) {
	file, err := os.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("keep other tests of this host out: %w", err)
	}
	for {
		err = syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("keep other tests of this host out: %w", errors.Join(err, file.Close()))
	}
	return func() { file.Close() }, nil
}
