package platform

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const mountinfo = `22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,discard
24 22 0:41 /@home /home\040of\011all rw - btrfs /dev/sdb rw,subvol=/@home
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
34 31 0:31 /docker/abc /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
broken line
`

func TestMounts(t *testing.T) {
	got := slices.Collect(Mounts([]byte(mountinfo)))
	if len(got) != 5 {
		t.Fatalf("got %d mounts", len(got))
	}
	if want := (Mount{Root: "/", Point: "/", Type: "ext4", Source: "/dev/sda2", Options: "rw,relatime,rw,discard"}); got[0] != want {
		t.Errorf("got %+v, want %+v", got[0], want)
	}
	if want := (Mount{Root: "/@home", Point: "/home of\tall", Type: "btrfs", Source: "/dev/sdb", Options: "rw,rw,subvol=/@home"}); got[1] != want {
		t.Errorf("got %+v, want %+v", got[1], want)
	}
}

func TestFindControlGroup(t *testing.T) {
	const membership = "3:cpuset:/docker/abc/inner\n1:cpu,cpuacct:/lab\n5:name=systemd:/x\n0::/user.slice\n"
	for controller, want := range map[string]ControlGroup{
		"cpu":    {1, "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct/lab"},
		"cpuset": {1, "/sys/fs/cgroup/cpuset", "/sys/fs/cgroup/cpuset/inner"},
		"io":     {2, "/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/user.slice"},
	} {
		got, err := FindControlGroup([]byte(mountinfo), []byte(membership), controller)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", controller, got, err, want)
		}
	}
	for name, membership := range map[string]string{"none": "", "memory of version 1 that is not mounted": "7:memory:/\n0::/\n"} {
		if got, err := FindControlGroup([]byte(mountinfo), []byte(membership), "memory"); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func FuzzMounts(f *testing.F) {
	f.Add(mountinfo, "0::/a\n1:cpu:/b")
	f.Add(`1 1 0:1 / /\0400 rw - cgroup2 c rw`, "0::/../..")
	f.Fuzz(func(t *testing.T, mounts, membership string) {
		g, err := FindControlGroup([]byte(mounts), []byte(membership), "cpu")
		if err == nil && g.Folder == "" {
			t.Errorf("a group without a folder: %+v", g)
		}
		for m := range Mounts([]byte(mounts)) {
			if m.Type == "" || strings.ContainsAny(m.Type, " \t") {
				t.Errorf("type %q", m.Type)
			}
		}
	})
}
