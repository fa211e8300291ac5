package journal

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A lock that outlives its process for a moment is waited for; that of a living one is not.
func TestLockOfADeadProcess(t *testing.T) {
	dir := t.TempDir()
	held, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d", os.Getpid())) {
		t.Errorf("a second lock: %v", err)
	}
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lock"), fmt.Appendln(nil, dead.Process.Pid), 0o644); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(2*lockPause, held)
	again, err := Lock(dir)
	if err != nil {
		t.Fatalf("after its process died: %v", err)
	}
	again()
}
