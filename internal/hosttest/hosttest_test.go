package hosttest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Each change to a host is seen, named, and gone again after it was undone.
func TestSnapshotSeesChanges(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to change this machine and put it back")
	}
	if !ContainAlone(t) {
		return
	}
	run := func(script string) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			if text, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", script, err, text)
			}
		}
	}
	var sleep *exec.Cmd
	forward := run("echo $((1 - $(cat /proc/sys/net/ipv4/ip_forward))) >/proc/sys/net/ipv4/ip_forward")
	tests := []struct {
		name     string
		do, undo func(*testing.T)
		want     string
	}{
		{"sysctl", run("echo $(($(cat /proc/sys/vm/swappiness) + 1)) >/proc/sys/vm/swappiness"), run("echo $(($(cat /proc/sys/vm/swappiness) - 1)) >/proc/sys/vm/swappiness"), "/proc/sys/vm/swappiness is"},
		{"sysctl of the network", forward, forward, "/proc/sys/net/ipv4/ip_forward is"},
		{"file", run("mkdir /tmp/left; echo x >/tmp/left/file"), run("rm -r /tmp/left"), "file /tmp/left/file is new"},
		{"shared memory", run("echo x >/dev/shm/PostgreSQL.1"), run("rm /dev/shm/PostgreSQL.1"), "file /dev/shm/PostgreSQL.1 is new"},
		{"system V", run("ipcmk -M 4096"), run("ipcrm -a"), "/proc/sysvipc/shm: "},
		{"mount", run("mkdir /run/m; mount -t tmpfs none /run/m"), run("umount /run/m; rmdir /run/m"), "mount /run/m is new"},
		{"network namespace", run("ip netns add left"), run("ip netns del left; umount /run/netns; rm -r /run/netns"), "mount /run/netns/left is new"},
		{"interface", run("ip link add left type veth peer name right"), run("ip link del left"), "interface left is new"},
		{"qdisc", run("tc qdisc add dev lo root pfifo"), run("tc qdisc del dev lo root"), "tc qdisc show: qdisc pfifo"},
		{"process", func(t *testing.T) {
			sleep = exec.Command("sleep", "100")
			sleep.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS}
			if err := sleep.Start(); err != nil {
				t.Fatal(err)
			}
		}, func(*testing.T) { sleep.Process.Kill(); sleep.Wait() }, "namespace uts:"},
	}
	host := Watch(t)
	for _, test := range tests {
		test.do(t)
		lines := Diff(host.before.Without(host.drift), Take().Without(host.drift))
		test.undo(t)
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, test.want) }) {
			t.Errorf("%s: no %q in\n%s", test.name, test.want, strings.Join(lines, "\n"))
		}
		host.Unchanged(t)
	}
}

// What others of the host make meanwhile is no change: a contained test has company.
func TestOthersOfTheHostAreNotSeen(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to make a control group and a loop device on this machine")
	}
	if !Contain(t) {
		return
	}
	groups, err := filepath.Glob("/sys/fs/cgroup/*/cgroup.procs") // version 1; there is one of version 2 at the top
	if err != nil || len(groups) == 0 {
		groups = []string{"/sys/fs/cgroup/cgroup.procs"}
	}
	group := filepath.Join(filepath.Dir(groups[0]), "somebody-else")
	host := Watch(t)
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	folder := t.TempDir()
	script := `truncate -s 1M "$0/image" && losetup --find --show "$0/image"`
	device, err := exec.Command("sh", "-c", script, folder).Output()
	if name := strings.TrimSpace(string(device)); err == nil {
		t.Cleanup(func() {
			if text, err := exec.Command("losetup", "--detach", name).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, text)
			}
		})
	} // some hosts have no loop devices
	host.except = append(host.except, filepath.Dir(folder))
	host.Unchanged(t)
}

func TestExceptedFolders(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own")
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	s := Snapshot{}
	s.tree(dir, []string{own})
	if len(s) != 0 {
		t.Errorf("%v", s)
	}
	s.tree(dir, nil)
	if len(s) != 1 {
		t.Errorf("%v", s)
	}
}

// The go tool writes beside the program of a test while it runs.
func TestTheFolderOfTheProgramIsNoHost(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to look at this machine")
	}
	if !Contain(t) {
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := Watch(t)
	note := filepath.Join(filepath.Dir(self), "note")
	if err := os.WriteFile(note, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(note)
	for _, line := range Diff(host.before.Without(host.drift), Take(host.except...).Without(host.drift)) {
		if strings.Contains(line, note) {
			t.Error(line)
		}
	}
}

func TestDiff(t *testing.T) {
	before := Snapshot{"a": "1", "b": "1", "c": "1", "drifts": "1"}
	after := Snapshot{"a": "1", "b": "2", "d": "1", "drifts": "2"}
	drift := []string{"drifts"}
	got := strings.Join(Diff(before.Without(drift), after.Without(drift)), "; ")
	if want := `b is "2", it was "1"; c is gone, it was "1"; d is new: "1"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A mount over the folder in which another one lies hides it; one beside it, or below which it lies, does not.
func TestHiddenMounts(t *testing.T) {
	all := map[string]mount{}
	for _, m := range []mount{
		{"1", "0", "/", ""}, {"2", "1", "/tmp/disk", ""}, {"3", "1", "/tmp", ""}, {"4", "3", "/tmp/own", ""}, {"5", "1", "/tmpfs", ""}, {"6", "3", "/tmp", ""}, {"7", "6", "/tmp/new", ""},
	} {
		all[m.id] = m
	}
	for id, want := range map[string]bool{"1": false, "2": true, "3": false, "4": true, "5": false, "6": false, "7": false} {
		if hidden(all[id], all) != want {
			t.Errorf("the mount at %s (%s) is hidden: %v", all[id].at, id, !want)
		}
	}
}

// What a contained program leaves ends with it.
func TestContainedProgramsEndWithTheContext(t *testing.T) {
	if why := Lacking(); why != "" {
		t.Skip(why)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c := Command(ctx, "sh", "-c", "touch /tmp/here; echo ready; sleep 1000")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	cancel()
	_ = c.Wait()
	if _, err := os.Stat("/tmp/here"); err == nil {
		t.Error("its /tmp is that of the host")
	}
}
