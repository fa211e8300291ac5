package platform

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// ControlGroup is the control group of a process for one controller.
type ControlGroup struct {
	Version int    // 1 or 2
	Mount   string // where the hierarchy is mounted
	Folder  string // of the group itself
}

// FindControlGroup says which control group governs a process for a controller
// such as "cpu". It reads the machine's /proc/self/mountinfo and the process's
// /proc/PID/cgroup; both versions may be in use side by side, so each
// controller is looked up on its own. On version 2, whether the controller is
// switched on is for the caller to see: Folder has its files or it has not.
// The error wraps errors.ErrUnsupported.
func FindControlGroup(mountinfo, membership []byte, controller string) (ControlGroup, error) {
	path1, path2 := memberships(string(membership), controller)
	for m := range Mounts(mountinfo) {
		if m.Type == "cgroup" && path1 != "" && slices.Contains(strings.Split(m.Options, ","), controller) {
			return ControlGroup{Version: 1, Mount: m.Point, Folder: below(m, path1)}, nil
		}
	}
	for m := range Mounts(mountinfo) {
		if m.Type == "cgroup2" && path2 != "" && path1 == "" {
			return ControlGroup{Version: 2, Mount: m.Point, Folder: below(m, path2)}, nil
		}
	}
	return ControlGroup{}, fmt.Errorf("no control groups with the %s controller are mounted: %w", controller, errors.ErrUnsupported)
}

// memberships returns the paths of a process in the hierarchy of a version 1
// controller and in that of version 2; empty where it has none.
func memberships(text, controller string) (path1, path2 string) {
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(f) < 3:
		case f[0] == "0" && f[1] == "":
			path2 = f[2]
		case slices.Contains(strings.Split(f[1], ","), controller):
			path1 = f[2]
		}
	}
	return path1, path2
}

// below is the folder of a group, where only a part of the hierarchy may be
// mounted, as in a container.
func below(m Mount, group string) string {
	if rest, found := strings.CutPrefix(group, m.Root); found && m.Root != "/" {
		group = rest
	}
	return path.Join(m.Point, group)
}
