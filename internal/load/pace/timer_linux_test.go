package pace

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestNoFileLeftForATimer(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	_, err := New(t.Context(), At(time.Now()), 0)
	if again := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); again != nil {
		t.Fatal(again)
	}
	if err == nil || !strings.Contains(err.Error(), "ulimit -n") {
		t.Errorf("got %v", err)
	}
}

// Both clocks must be the same one: an hour later, the kernel's is where ours says.
func TestTheKernelsClockIsOurs(t *testing.T) {
	origin := time.Now()
	early, late := offset(At(origin)), offset(At(origin.Add(time.Hour)))
	if off := late - early - time.Hour; off < -time.Millisecond || off > time.Millisecond {
		t.Errorf("an origin an hour later has its offset %s off an hour", off)
	}
}
