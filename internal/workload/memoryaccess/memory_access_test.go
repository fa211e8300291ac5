package memoryaccess

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

// host is a machine with a meminfo.
type host struct {
	platform.Machine
	meminfo string
}

func (h host) ReadFile(context.Context, string) ([]byte, error) {
	if h.meminfo == "" {
		return nil, fs.ErrNotExist
	}
	return []byte(h.meminfo), nil
}

func TestContract(t *testing.T) {
	workloadtest.Run(t, Kind(), workloadtest.Options{
		Settings: []parameter.Settings{
			{"working_set": "16MiB"},
			{"access": "copy", "threads": "2", "pages": "base", "block": "128KiB", "working_set": "1MiB", "think": "1ms"},
			{"access": "chase", "rate": "200/s", "arrivals": "poisson", "threads": "4", "block": "64KiB", "working_set": "256KiB"},
		},
		Env:    func(*testing.T) workload.Env { return workload.Env{Machine: host{}} },
		Length: loadtest.Short(300 * time.Millisecond),
	})
}

// made is a thread that has not accessed anything.
func made(t *testing.T, access string, set, block parameter.Bytes) *thread {
	t.Helper()
	th, err := newThread(Parameters{Access: access, WorkingSet: set, Block: block}, 7)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := th.Close(); err != nil {
			t.Error(err)
		}
	})
	return th
}

// calls accesses n blocks.
func calls(t *testing.T, th *thread, n int) {
	t.Helper()
	for range n {
		if _, size, err := th.Call(t.Context()); err != nil || size != int64(th.block) {
			t.Fatalf("%d bytes, %v", size, err)
		}
	}
}

func TestTheChainVisitsEachLineOnce(t *testing.T) {
	const set = 256 << 10
	th := made(t, "chase", set+32, 4<<10)
	seen := make([]bool, set/line)
	start := th.at
	at := start
	for range seen {
		if seen[at] {
			t.Fatalf("line %d comes twice", at)
		}
		seen[at] = true
		at = int(th.get(at, 0))
	}
	if at != start {
		t.Errorf("the chain ends at line %d, and began at %d", at, start)
	}
	calls(t, th, 2*set/(4<<10)+3)
	if th.loads != 2*set/line+3*64 {
		t.Errorf("%d loads", th.loads)
	}
}

func TestBlocksComeInTurn(t *testing.T) {
	th := made(t, "read", 10<<10, 4<<10)
	for _, want := range []int{4 << 10, 8 << 10, 4 << 10} {
		calls(t, th, 1)
		if th.at != want {
			t.Errorf("at %d, want %d", th.at, want)
		}
	}
}

func TestCopiesAreEqual(t *testing.T) {
	const half, block = 3 << 20, 3 << 19
	th := made(t, "copy", 2*half, block)
	if bytes.Equal(th.set[:half], th.set[half:]) {
		t.Fatal("the target equals the source before any copy")
	}
	calls(t, th, half/block)
	if !bytes.Equal(th.set[:half], th.set[half:]) {
		t.Error("the target differs from the source")
	}
}

func TestWrongDataIsAnError(t *testing.T) {
	for name, spoil := range map[string]func(*thread){
		"read":  func(th *thread) { th.set[5000] = mark },
		"chase": func(th *thread) { th.put(th.at, 0, th.get(int(th.get(th.at, 0)), 0)) },
		"copy":  func(th *thread) { th.set[th.block-1] = 0 },
	} {
		th := made(t, name, 64<<10, 8<<10)
		spoil(th)
		if _, _, err := th.Call(t.Context()); !errors.Is(err, errWrong) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// A load that ends does not wait for a large block, and does not lose its place.
func TestALargeBlockIsCancelled(t *testing.T) {
	th := made(t, "chase", 8<<20, 8<<20)
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("over")
	cancel(cause)
	if _, size, err := th.Call(ctx); size != 0 || !errors.Is(err, cause) {
		t.Errorf("%d bytes, %v", size, err)
	}
	calls(t, th, 2)
}

func TestTheLatencyOfLoadsIsReported(t *testing.T) {
	for access, reported := range map[string]bool{"chase": true, "read": false} {
		l, err := Kind().New(parameter.Settings{"access": access, "threads": "3", "working_set": "192KiB", "block": "64KiB"})
		if err != nil {
			t.Fatal(err)
		}
		out := measure.NewRecorder(nil)
		if err := l.Run(t.Context(), workload.Env{}, load.Stage{Length: 100 * time.Millisecond, Interval: 50 * time.Millisecond}, out); err != nil {
			t.Fatal(err)
		}
		latency, has := out.Values()["load_latency"]
		if has != reported || has && (latency <= 0 || latency > 1e-4) {
			t.Errorf("%s: load_latency %g, %v", access, latency, has)
		}
		if got := out.Observed()["memory-access.threads"]; got != "3" {
			t.Errorf("%s threads", got)
		}
	}
}

func TestAdviceOfAMapping(t *testing.T) {
	const smaps = `7f0000000000-7f0000200000 rw-p 00000000 00:00 0
Size:               2048 kB
VmFlags: rd wr mr mw me ac hg
7f0000200000-7f0000400000 rw-p 00000000 00:00 0
VmFlags: rd wr mr mw me ac nh
7f0000400000-7f0000600000 r--p 00000000 08:01 17 /usr/lib/a-b c
VmFlags: rd mr mw me
`
	for address, want := range map[uint64]string{
		0x7f0000000000: huge, 0x7f00001fffff: huge, 0x7f0000200000: base, 0x7f0000400000: system, 0x7f0000600000: "", 0: "",
	} {
		if got := adviceAt(smaps, address); got != want {
			t.Errorf("%x: %q, want %q", address, got, want)
		}
	}
}

func TestAdviceIsReadBack(t *testing.T) {
	for _, pages := range []string{system, base, huge} {
		th, err := newThread(Parameters{Access: "read", Pages: pages, WorkingSet: 4 << 20, Block: 64 << 10}, 1)
		if err != nil && pages == huge {
			t.Skip(err) // a kernel without huge pages
		}
		if err != nil {
			t.Fatal(err)
		}
		if th.pages != pages {
			t.Errorf("advised %s, read %q", pages, th.pages)
		}
		if err := th.Close(); err != nil {
			t.Error(err)
		}
	}
}

func FuzzAdvice(f *testing.F) {
	f.Add("1000-2000 rw-p\nVmFlags: rd hg\n", uint64(0x1800))
	f.Add("VmFlags: hg", uint64(0))
	f.Fuzz(func(t *testing.T, smaps string, address uint64) {
		switch got := adviceAt(smaps, address); got {
		case "", system, huge, base:
		default:
			t.Errorf("%q", got)
		}
	})
}

func TestCheck(t *testing.T) {
	l, err := Kind().New(parameter.Settings{"threads": "2", "working_set": "256MiB"})
	if err != nil {
		t.Fatal(err)
	}
	for meminfo, want := range map[string]string{
		"MemAvailable: 2097152 kB\n": "",
		"MemAvailable: 524288 kB\n":  "memory-access.working_set",
	} {
		_, err := l.Check(t.Context(), workload.Env{Machine: host{meminfo: meminfo}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", meminfo, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for want, s := range map[string]parameter.Settings{
		"block 128KiB exceeds its part of the working_set, 64KiB": {"access": "copy", "block": "128KiB", "working_set": "128KiB"},
		"not a multiple of 64":                  {"block": "70000B"},
		"rate and think are mutually exclusive": {"rate": "5/s", "think": "1ms"},
		"arrivals requires rate":                {"arrivals": "poisson"},
		"access":                                {"access": "write"},
	} {
		if _, err := Kind().New(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", s, err, want)
		}
	}
}
