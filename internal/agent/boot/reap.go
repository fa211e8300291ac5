package boot

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// orphanTime is the age at which a dead child counts as an orphan: this program waits for
// its own children at once.
const orphanTime = 2 * time.Second

// reapOrphans reaps the orphans that the init process inherited. Children started by this
// program are left to their own wait. It scans only after a child has died, so an idle
// guest stays idle.
func reapOrphans(ctx context.Context) {
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	defer signal.Stop(died)
	for {
		select {
		case <-ctx.Done():
			return
		case <-died:
		}
		dead := zombies("/proc", os.Getpid())
		for len(dead) > 0 {
			if pause(ctx, orphanTime) != nil {
				return
			}
			again := zombies("/proc", os.Getpid())
			for process := range dead {
				if again[process] {
					_, _ = unix.Wait4(process.pid, nil, unix.WNOHANG, nil)
					delete(again, process)
				}
			}
			dead = again
		}
	}
}

// process identifies a process, also against a later one with the same PID.
type process struct {
	pid   int
	start string // in ticks since boot
}

// zombies are the dead children of a process.
func zombies(proc string, parent int) map[process]bool {
	files, err := filepath.Glob(proc + "/[0-9]*/stat")
	if err != nil {
		return nil
	}
	dead := map[process]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // already gone
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		// The name, in parentheses, may contain any character: see proc(5).
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if err == nil && len(fields) >= 20 && fields[0] == "Z" && fields[1] == strconv.Itoa(parent) {
			dead[process{pid, fields[19]}] = true
		}
	}
	return dead
}
