package fleet_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/agent"
	"plimsoll/internal/agent/guard"
	"plimsoll/internal/agent/join"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
)

// disguised is a machine on which plimsoll is another program.
type disguised struct {
	guard.Whole
	self    string
	endless string // a file that keeps the program going
}

func (d disguised) Self(context.Context) (string, error) { return d.self, nil }

// Run lets a program that was told to stop go on for a moment, and with PLIMSOLL_REAL=1 until
// it is killed.
func (d disguised) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	if c.Stop != nil && os.Getenv("PLIMSOLL_REAL") == "" {
		ended := make(chan struct{})
		defer close(ended)
		go func() {
			select {
			case <-ended:
				return
			case <-c.Stop:
			}
			select {
			case <-ended:
			case <-time.After(200 * time.Millisecond):
				os.Remove(d.endless)
			}
		}()
	}
	return d.Whole.Run(ctx, c)
}

// An agent that was let in and whose machine makes up what it measures costs its load, with the cause named, and neither time nor memory of the lab.
func TestAnAgentThatLies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	worker, words, endless := filepath.Join(dir, "worker"), filepath.Join(dir, "words"), filepath.Join(dir, "endless")
	// It goes on whatever it is told, as long as the lab lets it, with 5 MB/s.
	script := "#!/bin/sh\ntrap '' INT TERM HUP\ncat " + words + "\nwhile [ -e " + endless + " ] && cat " + words + "; do sleep .2; done\nexit 0\n"
	if err := os.WriteFile(worker, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	listen, state := freePort(t), t.TempDir()
	here(t, listen, state, func(o *join.Options) {
		o.Machine, o.Subprocesses = disguised{o.Machine.(guard.Whole), worker, endless}, []string{agent.Command}
	})
	p := open(t, listen, state)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	interval := func(n int, class string, operations int64) string {
		return fmt.Sprintf(`{"interval":{"From":%d,"To":%d,"Samples":[{"Class":%q,"Operations":%d}],"Offer":{}}}`+"\n", n*100_000_000, (n+1)*100_000_000, class, operations)
	}
	const end = `{"end":{"values":{"a":1}}}` + "\n"
	for _, c := range []struct {
		name, words, want string
		endless           bool
	}{
		{"honest", interval(0, "read", 5) + end, "", false},
		{"nothing", "", "exited without a result", false},
		{"garbage", "\x00\xff\n", "invalid character", false},
		{"replay", interval(0, "read", 5) + interval(0, "read", 5) + end, "the previous one ended at 100ms", false},
		{"below zero", interval(0, "read", -5) + end, "counts -5", false},
		{"not a number", `{"end":{"values":{"a":NaN}}}` + "\n", "invalid character", false},
		{"overflow", `{"end":{"values":{"a":1e308}}}` + "\n", "1e+308", false},
		{"line without end", strings.Repeat("a", 1<<20), "a line of more than", true},
		{"after the end", end + interval(0, "read", 5) + interval(0, "read", 5), "the previous one ended at 100ms", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(words, []byte(c.words), 0o600); err != nil {
				t.Fatal(err)
			}
			if c.endless {
				if err := os.WriteFile(endless, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.Remove(endless) })
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			out := measure.NewRecorder(nil)
			begin := time.Now()
			err := agent.Run(ctx, agent.Env{Machine: p.Machine()}, agent.Job{Workload: "null", Stage: load.Stage{Length: time.Second, Interval: 100 * time.Millisecond}}, out)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if took := time.Since(begin); took > patience {
				t.Errorf("it took %s", took)
			}
			if n := len(out.Intervals()); n > 10 {
				t.Errorf("%d intervals are kept", n)
			}
		})
	}
}
