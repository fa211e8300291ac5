package hardware

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/guest/view"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]Version{
		"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)\nCopyright": {7, 2, 22},
		"QEMU emulator version 10.0.2":                                           {10, 0, 2},
		"QEMU emulator version 9.1":                                              {9, 1, 0},
	} {
		if v, err := ParseVersion(text); err != nil || v != want {
			t.Errorf("%q: %v, %v, want %v", text, v, err, want)
		}
	}
	if _, err := ParseVersion("qemu-img version 7.2"); err == nil {
		t.Error("another program's version is taken")
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		v       Version
		a       Accelerator
		refused string
	}{
		{Version{7, 2, 22}, TCG, string(RefusedPrecopy + ", " + RefusedSMT)},
		{Version{9, 2, 0}, TCG, string(RefusedPrecopy + ", " + RefusedSMT)},
		{Version{10, 0, 0}, TCG, string(RefusedSMT)},
		{Version{7, 2, 22}, KVM, ""},
		{Version{6, 2, 0}, KVM, string(RefusedStream)},
	} {
		var names []string
		for _, f := range []Feature{RefusedStream, RefusedPrecopy, RefusedSMT} {
			if Refused(c.v, c.a, f) != "" {
				names = append(names, string(f))
			}
		}
		if got := strings.Join(names, ", "); got != c.refused {
			t.Errorf("QEMU %v under %s refuses %q, want %q", c.v, c.a, got, c.refused)
		}
	}
}

func TestTSCkHz(t *testing.T) {
	cpu := "processor\t: 0\nflags\t\t: fpu constant_tsc\nbogomips\t: 4600.01\n\nprocessor : 1\nbogomips : 1.00\n"
	if got := tscKHz(cpu); got != 2300005 {
		t.Errorf("%d kHz", got)
	}
	for _, text := range []string{"", strings.Replace(cpu, "constant_tsc", "tsc", 1), strings.Replace(cpu, "4600.01", "NaN", 1), strings.Replace(cpu, "4600.01", "1e9", 1)} {
		if got := tscKHz(text); got != 0 {
			t.Errorf("%q: %d kHz, want none", text, got)
		}
	}
}

func TestHostShape(t *testing.T) {
	var v view.Topology
	for i := range 16 {
		v.CPUs = append(v.CPUs, view.CPU{ID: i, Socket: i / 8, Core: i % 8 / 2})
	}
	v.Cache = []view.Cache{{Name: "L3", Sharing: []string{"0-3", "4-7", "8-11", "12-15"}}}
	v.Nodes = []view.Node{{CPUs: "0-7", Memory: 9}, {ID: 1, CPUs: "8-15", Memory: 7}, {ID: 2, Memory: 1}}
	want := topology.Shape{Name: "h", Sockets: 2, NodesPerSocket: 1, CoresPerNode: 4, ThreadsPerCore: 2, CoresPerCache: 2, MemoryPerNode: 7}
	if got := HostShape("h", v); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	v.Nodes = []view.Node{{CPUs: "0-15", Memory: 16}}
	want = topology.Shape{Name: "h", Sockets: 1, NodesPerSocket: 1, CoresPerNode: 8, ThreadsPerCore: 2, CoresPerCache: 2, MemoryPerNode: 16}
	if got := HostShape("h", v); got != want {
		t.Errorf("two sockets in a node: %+v, want %+v", got, want)
	}
}

func TestHugePages(t *testing.T) {
	read := func(name string) ([]byte, error) {
		if name != "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages" {
			return nil, fs.ErrNotExist
		}
		return []byte("100\n"), nil
	}
	for want, m := range map[string]Memory{
		"":                              {Size: 200 * mib, HugePage: 2 * mib},
		"100 are free on the host, 101": {Size: 202 * mib, HugePage: 2 * mib},
		"none of that size":             {Size: 1 << 30, HugePage: 1 << 30},
	} {
		err := m.CheckHugePages(read)
		if got := fmt.Sprint(err); (want == "") != (err == nil) || !strings.Contains(got, want) && err != nil {
			t.Errorf("%+v: %v, want %q", m, err, want)
		}
	}
}

func TestMovable(t *testing.T) {
	for want, s := range map[string]Shape{
		"":                      {Disks: []Disk{{Name: "d", Backing: BackingNBD}, {Name: "e", Backing: BackingFile, Path: "/e"}}},
		"the same path":         {Disks: []Disk{{Name: "d", Backing: BackingFile}}},
		"would write old pages": {Persistent: []Persistent{{Name: "p"}}},
	} {
		if err := s.Movable(); (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
