package local

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// markName is the environment variable that every process of a command carries,
// in whatever group or session it put itself. The mark is known before the
// command starts, so that there is no instant in which it could be missed.
const markName = "PLIMSOLL_COMMAND"

// newMark returns a mark that no other command has.
func (m *machine) newMark() string {
	return strconv.Itoa(os.Getpid()) + "_" + strconv.FormatInt(time.Now().UnixNano(), 36) + "_" + strconv.FormatUint(m.commands.Add(1), 10)
}

// killMarked ends every process of a command, and what those start meanwhile.
func killMarked(mark string) {
	const rounds = 5
	for range rounds {
		pids := marked(mark)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}

// marked lists the processes that carry a mark. Those of others cannot be read
// and do not carry it.
func marked(mark string) []int {
	want := []byte(markName + "=" + mark + "\x00")
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil
	}
	var pids []int
	for _, name := range files {
		environ, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(environ, want) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
