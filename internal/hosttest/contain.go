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
	"syscall"
	"testing"
	"time"
)

// inside is the environment variable that tells a contained process so.
const inside = "PLIMSOLL_CONTAINED"

// lockFile keeps contained tests of a host apart, since some settings are in no namespace.
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

var skipped = regexp.MustCompile(`(?s)(?:^|\n)--- SKIP: [^\n]*\n\s*(.*?)\n(?:PASS|$)`)

// Contain runs the calling test once more, contained, and answers true there. Outside it takes over the outcome and answers false. Without
// root, or where the kernel's settings cannot be written, the test is skipped with the reason.
func Contain(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) != "" {
		return true
	}
	if why := Lacking(); why != "" {
		t.Skip(why)
	}
	exclusive(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	args := []string{self, "-test.run=^" + regexp.QuoteMeta(t.Name()) + "$", "-test.v"}
	if deadline, ok := t.Deadline(); ok {
		args = append(args, "-test.timeout="+time.Until(deadline).Round(time.Second).String())
	}
	text, err := Command(ctx, args...).CombinedOutput()
	switch m := skipped.FindSubmatch(text); {
	case err != nil:
		t.Fatalf("contained: %v\n%s", err, text)
	case m != nil:
		t.Skip(string(m[1]))
	}
	t.Logf("contained:\n%s", text)
	return false
}

// exclusive waits until no other test changes settings of this host that are in no namespace, and keeps them out until the test ends.
func exclusive(t testing.TB) {
	t.Helper()
	release, err := Lock()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
}

// Lock is Exclusive for programs that are no tests.
func Lock() (release func(), err error) {
	file, err := os.OpenFile(lockFile, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("keep other tests of this host out: %w", err)
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("keep other tests of this host out: %w", errors.Join(err, file.Close()))
	}
	return func() { file.Close() }, nil
}
