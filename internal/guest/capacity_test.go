package guest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"plimsoll/internal/guest/capacity"
)

// What guests may come to take counts, less what they have taken already.
func TestCapacity(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	resident := map[int]int64{}
	r := capacity.New("/tmp/here", capacity.Host{
		Memory:   func() (int64, error) { return 1 * gib, nil },
		Disk:     func(string) (int64, error) { return 10 * gib, nil },
		Resident: func(pid int) int64 { return resident[pid] },
		Blocks:   func(file string) int64 { return map[string]int64{"full": 4 * gib}[file] },
	})
	guest := func(n int, memory, disk int64) capacity.Claim {
		return capacity.Claim{Number: n, Memory: memory, Disk: disk, Image: "empty"}
	}
	if err := r.Claim(guest(1, 512*mib, 4*gib)); err != nil {
		t.Fatal(err)
	}
	if err := r.Claim(guest(2, 512*mib, 4*gib)); err == nil || !strings.Contains(err.Error(), "memory: 1.1 GiB in total") {
		t.Errorf("%v", err)
	}
	resident[7] = 500 * mib
	r.Started(1, 7)
	if err := r.Claim(guest(2, 512*mib, 4*gib)); err != nil {
		t.Errorf("what a guest has is not to be found once more: %v", err)
	}
	if err := r.Claim(guest(3, mib, 4*gib)); err == nil || !strings.Contains(err.Error(), "disk: 12.0 GiB in total, 2.0 GiB more than /tmp has free") {
		t.Errorf("%v", err)
	}
	if err := r.Claim(capacity.Claim{Number: 3, Memory: mib, Disk: 4 * gib, Image: "full"}); err != nil {
		t.Errorf("a disk that is written needs no room: %v", err)
	}
	r.Stopped(1)
	if err := r.Claim(guest(2, 448*mib, 4*gib)); err == nil {
		t.Error("a guest that is booted anew needs its memory again")
	}
	r.Release(1)
	if err := r.Claim(guest(2, 448*mib, 4*gib)); err != nil {
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
		if got, err := capacity.AvailableMemory(read); err != nil || got != want {
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
	if _, err := capacity.AvailableMemory(read); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
