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

// killMarked kills every process of a command, including new ones.
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

// marked lists the processes with a mark. Processes of other users are unreadable and have
// none.
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
