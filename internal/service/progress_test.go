package service

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/load/loadtest"
)

// A slow daemon is awaited as long as it makes progress.
func TestSlowStart(t *testing.T) {
	for name, text := range map[string]string{
		"it logs":         "for i in 1 2 3 4 5; do echo $i; sleep 0.1; done; touch up; exec sleep 100",
		"it logs to file": "for i in 1 2 3 4 5; do echo $i >>log; sleep 0.1; done; touch up; exec sleep 100",
		"it computes":     "end=$(($(date +%s%N)+400000000)); while [ $(date +%s%N) -lt $end ]; do :; done; touch up; exec sleep 100",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loadtest.Calm(t, func() error { // it may get no CPU time for that long
				env := place(t)
				r, err := launched(t.Context(), env, Recipe{Name: "it", Daemon: impatient(env, text)})
				if err != nil {
					return err
				}
				return r.Stop(t.Context())
			})
		})
	}
}

// impatient waits 250 ms for progress.
func impatient(env Env, text string) func(Location) (Daemon, error) {
	return func(p Location) (Daemon, error) {
		d, err := script(env, text)(p)
		d.Patience = 250 * time.Millisecond
		return d, err
	}
}

// A daemon without progress times out, and the error ends with its log.
func TestStuckStart(t *testing.T) {
	for text, want := range map[string]string{
		"echo I wait; exec sleep 100": "made no progress .* for 250ms: .*; its log ends: I wait",
		"exec sleep 100":              "made no progress .*; it logged nothing",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			env := place(t)
			_, err := launched(t.Context(), env, Recipe{Name: "it", Daemon: impatient(env, text)})
			if err == nil || !regexp.MustCompile("^it does not respond .* s after its start and "+want+"$").MatchString(err.Error()) {
				t.Errorf("it gives %v", err)
			}
			gone(t, env.Dir)
		})
	}
}

func TestCPUTime(t *testing.T) {
	for stat, want := range map[string]time.Duration{
		"7 (a) b) S 1 7 7 0 -1 4194560 99 98 0 0 150 50 25 75 20 0 1 0": 3 * time.Second,
		"7 (a) S 1": 0, "": 0, "7 (a) S 1 7 7 0 -1 4194560 99 98 0 0 x 50 25 75 20": 0,
	} {
		if got := cpuTime(stat); got != want {
			t.Errorf("%q is %s, not %s", stat, got, want)
		}
	}
}

// A client's advice about an existing server is not printed for a server of ours.
func TestRefusal(t *testing.T) {
	op := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{Port: 1}, Err: syscall.ECONNREFUSED}
	for _, err := range []error{
		fmt.Errorf("nothing listens at x: start the service there, or omit address to start a server"),
		fmt.Errorf("nothing listens there: start the server, or correct its address: %w", op),
	} {
		if got := refusal(err); strings.Contains(got, "start the") || got == "" {
			t.Errorf("%v is %q", err, got)
		}
	}
	if got := refusal(errors.New("it does not listen yet")); got != "it does not listen yet" {
		t.Error(got)
	}
}
