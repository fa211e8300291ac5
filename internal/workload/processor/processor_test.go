package processor

import (
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

// host is a machine with a file.
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
			{"working_set": "256KiB"},
			{"threads": "2", "unit": "4KiB", "working_set": "1MiB", "think": "1ms"},
			{"rate": "200/s", "arrivals": "poisson", "threads": "4", "unit": "1KiB"},
		},
		Env:    func(*testing.T) workload.Env { return workload.Env{Machine: host{}} },
		Length: loadtest.Short(300 * time.Millisecond),
	})
}

func TestTheAnswerOfATextIsKnown(t *testing.T) {
	if got := answer(write(knownText)); got != knownAnswer {
		t.Errorf("the answer is %#016x", got)
	}
}

// A unit that comes out wrong fails, and so does the text of another.
func TestAMachineThatComputesWronglyFails(t *testing.T) {
	b := newBook(4<<10, 64<<10)
	th := newThread(b, b.set, 1, 0)
	if _, n, err := th.Call(t.Context()); err != nil || n != 4<<10 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	seen := map[uint64]bool{}
	for i := range b.answers {
		seen[b.answers[i]] = true
		b.answers[i]++
	}
	if len(seen) != len(b.answers) {
		t.Errorf("%d units have %d answers", len(b.answers), len(seen))
	}
	if _, _, err := th.Call(t.Context()); err == nil || !strings.Contains(err.Error(), "computes incorrectly") {
		t.Errorf("got %v", err)
	}
}

// Any bit of a statement counts.
func TestEachWordCounts(t *testing.T) {
	texts := []string{"n1 = n2 + 3;", "n1 = n2 + 4;", "n1 = n2 - 3;", "n1 = n3 + 3;", "n2 = n2 + 3;", "n1 = n2 + 3 * 2;", "n1 = (n2 + 3) * 2;", "n1 = 2 * 3;\nn1 = n2 + 3;", "", "n1", "n1 =", "((", "n1 = (;"}
	seen := map[uint64]string{}
	for _, text := range texts {
		got := answer([]byte(text))
		if other, ok := seen[got]; ok && strings.HasSuffix(text, "3;") {
			t.Errorf("%q and %q have the same answer", text, other)
		}
		seen[got] = text
	}
	if answer([]byte("n1 = 2 * 3;")) != answer([]byte("n1 = 6;")) {
		t.Error("what is constant is not folded")
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add([]byte("n1 = (n2 + 3) * n4 ^ 5;\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<12 {
			return
		}
		if answer(text) != answer(append([]byte(nil), text...)) {
			t.Error("the answer depends on more than the text")
		}
	})
}

func TestTheLoadReadsBackWhatItDid(t *testing.T) {
	l, err := Kind().New(parameter.Settings{"threads": "3", "working_set": "192KiB", "unit": "2KiB"})
	if err != nil {
		t.Fatal(err)
	}
	out := measure.NewRecorder(nil)
	if err := l.Run(t.Context(), workload.Env{}, load.Stage{Length: 100 * time.Millisecond, Interval: 50 * time.Millisecond}, out); err != nil {
		t.Fatal(err)
	}
	seen := out.Observed()
	if seen["processor.threads"] != "3" || seen["processor.working_set"] != "192KiB" || seen["processor.unit"] != "2KiB" {
		t.Errorf("got %v", seen)
	}
	if _, judged := out.Values()["generator.cpu"]; judged {
		t.Error("the work that is measured is taken for a generator of load")
	}
}

func TestCheck(t *testing.T) {
	l, err := Kind().New(parameter.Settings{"threads": "2", "working_set": "256MiB"})
	if err != nil {
		t.Fatal(err)
	}
	for meminfo, want := range map[string]string{
		"":                                     "",
		"MemTotal: 1 kB\nMemAvailable: many\n": "",
		"MemTotal: 4194304 kB\nMemAvailable: 2097152 kB\n": "",
		"MemTotal: 4194304 kB\nMemAvailable: 524288 kB\n":  "working_set",
	} {
		_, err := l.Check(t.Context(), workload.Env{Machine: host{meminfo: meminfo}})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", meminfo, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, s := range []parameter.Settings{
		{"unit": "1MiB", "working_set": "512KiB"}, {"rate": "5/s", "think": "1ms"}, {"arrivals": "poisson"}, {"threads": "0"}, {"unit": "10B"},
	} {
		if _, err := Kind().New(s); err == nil {
			t.Errorf("%v passed", s)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("over")
	cancel(cause)
	l, err := Kind().New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Run(ctx, workload.Env{}, load.Stage{Length: time.Second, Interval: time.Second}, measure.NewRecorder(nil)); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkUnit(b *testing.B) {
	text := write(16 << 10)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		answer(text)
	}
}
