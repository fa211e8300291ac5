package storage

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"plimsoll/internal/platform"
)

// holder is a line of what refuseOpened asks for: device number in hexadecimal, the file
// descriptor that it is open as, and its kind.
var holder = regexp.MustCompile(`^([0-9a-f]+):([0-9a-f]+) /proc/([0-9]+)/fd/`)

// refuseOpened refuses a device that a process has open, such as a virtual machine or a
// database that uses it without a file system. Where processes of others cannot be looked at,
// or the machine has no find, nothing is known and nothing refused.
func (t *target) refuseOpened(ctx context.Context, m platform.Machine) error {
	r, err := m.Run(ctx, platform.Command{Argv: []string{
		"find", "/proc", "-maxdepth", "3", "-path", "/proc/[0-9]*/fd/*", "-lname", "/dev/*", "-exec", "stat", "-L", "-c", "%t:%T %n %F", "{}", "+",
	}})
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	for line := range strings.Lines(string(r.Stdout)) { // find fails where a process ends meanwhile
		found := holder.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		major, _ := strconv.ParseUint(found[1], 16, 32)
		minor, _ := strconv.ParseUint(found[2], 16, 32)
		if fmt.Sprintf("%d:%d", major, minor) == t.number && strings.HasSuffix(strings.TrimSpace(line), " block special file") {
			return fmt.Errorf("process %s has it open", found[3])
		}
	}
	return nil
}
