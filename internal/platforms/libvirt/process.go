package libvirt

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"plimsoll/internal/libvirt"
)

// processOf finds the process of a domain in a /proc, by the UUID on QEMU's command line: the
// daemon behind a socket may be on another host, which ssh has forwarded here.
func processOf(proc fs.FS, d libvirt.Domain) (pid int, err error) {
	folders, err := fs.ReadDir(proc, ".")
	if err != nil {
		return 0, fmt.Errorf("list the processes of this host: %w", err)
	}
	u := d.UUID
	uuid := fmt.Appendf(nil, "%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
	for _, folder := range folders {
		pid, err := strconv.Atoi(folder.Name())
		if err != nil {
			continue
		}
		command, err := fs.ReadFile(proc, folder.Name()+"/cmdline")
		if err != nil {
			continue // it has ended
		}
		words := bytes.Split(command, []byte{0})
		is := func(text string) func([]byte) bool { return func(word []byte) bool { return string(word) == text } }
		if at := slices.IndexFunc(words, is("-uuid")); at > 0 && at+1 < len(words) && bytes.Equal(words[at+1], uuid) {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("no process of this machine runs domain %s: it is on another host, which plimsoll does not reach, or hidden", d.Name)
}
