package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// What cannot be is refused before anything boots, with the group that asked for it.
func TestGroupsAreChecked(t *testing.T) {
	s := Kind().Defaults.(Settings)
	b, err := newTestbed(depot{}, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	b.room.host = host{
		memory: func() (int64, error) { return 1 << 30, nil }, disk: func(string) (int64, error) { return 1 << 40, nil },
		resident: func(int) int64 { return 0 }, blocks: func(string) int64 { return 0 },
	}
	for _, c := range []struct {
		group platform.Group
		want  string
	}{
		{platform.Group{Name: "server"}, "0 guests of group server: ask for 1 or more"},
		{platform.Group{Name: "server", Machines: 1, Settings: parameter.Settings{"sails": "3"}}, "settings of group server"},
		{platform.Group{Name: "server", Machines: 1, Settings: parameter.Settings{"vcpus": "3", "nodes": "2"}}, "settings of group server: nodes"},
		{platform.Group{Name: "client", Machines: 4}, "memory: 1.2 GiB in all, with QEMU's own, and this host has 0.2 GiB less"},
	} {
		if _, err := b.Members(t.Context(), c.group); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.group, err, c.want)
		}
	}
	if m := b.groups["client"][3]; m.Name() != "client-4" || m.number != 5 {
		t.Errorf("the fourth client is %s, number %d", m.Name(), m.number)
	}
	if _, err := b.machine.Address(t.Context()); err == nil || !strings.Contains(err.Error(), "network: true") {
		t.Errorf("a guest without a network has an address: %v", err)
	}
}

func TestEachGuestHasAnAddress(t *testing.T) {
	seen := map[string]bool{}
	for n := 1; n <= mostAddresses; n++ {
		a := addressOf(n)
		if b := a.As4(); b[0] != 10 || b[1] != 198 || b[3] == 0 || b[3] == 255 || seen[a.String()] || seen[cardOf(n)] {
			t.Fatalf("guest %d has %s and %s", n, a, cardOf(n))
		}
		seen[a.String()], seen[cardOf(n)] = true, true
	}
}

// What guests may come to take counts, less what they have taken already.
func TestRoom(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	resident := map[int]int64{}
	r := newRoom("/tmp/here", host{
		memory:   func() (int64, error) { return 1 * gib, nil },
		disk:     func(string) (int64, error) { return 10 * gib, nil },
		resident: func(pid int) int64 { return resident[pid] },
		blocks:   func(file string) int64 { return map[string]int64{"full": 4 * gib}[file] },
	})
	guest := func(n int, memory, disk int64) claim { return claim{n, memory, disk, "empty"} }
	if err := r.claim(guest(1, 512*mib, 4*gib)); err != nil {
		t.Fatal(err)
	}
	if err := r.claim(guest(2, 512*mib, 4*gib)); err == nil || !strings.Contains(err.Error(), "memory: 1.1 GiB in all") {
		t.Errorf("%v", err)
	}
	resident[7] = 500 * mib
	r.started(1, 7)
	if err := r.claim(guest(2, 512*mib, 4*gib)); err != nil {
		t.Errorf("what a guest has is not to be found once more: %v", err)
	}
	if err := r.claim(guest(3, mib, 4*gib)); err == nil || !strings.Contains(err.Error(), "disk: 12.0 GiB in all, and /tmp has 2.0 GiB less") {
		t.Errorf("%v", err)
	}
	if err := r.claim(claim{3, mib, 4 * gib, "full"}); err != nil {
		t.Errorf("a disk that is written needs no room: %v", err)
	}
	r.stopped(1)
	if err := r.claim(guest(2, 448*mib, 4*gib)); err == nil {
		t.Error("a guest that is booted anew needs its memory again")
	}
	r.leave(1)
	if err := r.claim(guest(2, 448*mib, 4*gib)); err != nil {
		t.Error(err)
	}
}

func TestAvailableMemory(t *testing.T) {
	files := map[string]string{"/proc/meminfo": "MemTotal: 8192 kB\nMemAvailable:  4096 kB\n"}
	read := func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
		}
		return []byte(text), nil
	}
	check := func(what string, want int64) {
		t.Helper()
		if got, err := availableMemory(read); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", what, got, err, want)
		}
	}
	check("without control groups", 4<<20)
	files["/proc/self/cgroup"] = "0::/box/inner\n"
	check("without limits", 4<<20)
	files["/sys/fs/cgroup/box/inner/memory.max"], files["/sys/fs/cgroup/box/inner/memory.current"] = "max\n", "1000\n"
	files["/sys/fs/cgroup/box/memory.max"], files["/sys/fs/cgroup/box/memory.current"] = "3000000\n", "2000000\n"
	check("a limit of the outer group", 1_000_000)
	files["/sys/fs/cgroup/box/memory.stat"] = "anon 1500000\ninactive_file 500000\n"
	check("with a page cache", 1_500_000)
	files["/proc/meminfo"] = "MemTotal: 8192 kB\n"
	if _, err := availableMemory(read); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
