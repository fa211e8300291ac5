package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// below reports whether a path is a folder or is in it, after lexical cleaning.
func below(name, folder string) bool {
	clean := path.Clean(name)
	return path.IsAbs(clean) && (clean == path.Clean(folder) || strings.HasPrefix(clean, path.Clean(folder)+"/"))
}

// lead resolves all links of a path on this machine. A missing file is resolved by its folder.
// Paths with .. are rejected: after a link, .. is not the folder that it appears to be.
func lead(name string) (string, error) {
	if !path.IsAbs(name) || slices.Contains(strings.Split(name, "/"), "..") {
		return "", errors.New("it contains .., or no folder")
	}
	rest, at := "", path.Clean(name)
	for {
		_, err := os.Lstat(at)
		if !errors.Is(err, fs.ErrNotExist) || at == "/" {
			break
		}
		rest, at = path.Join(path.Base(at), rest), path.Dir(at)
	}
	at, err := filepath.EvalSymlinks(at) // an error for a dangling link
	if err != nil {
		return "", err
	}
	return path.Join(at, rest), nil
}

// leadsBelow reports whether a path is in a folder, by name and after resolving links.
func leadsBelow(name, folder string) bool {
	to, err := lead(name)
	home, failed := lead(folder)
	return err == nil && failed == nil && below(name, folder) && below(to, home)
}

func (r Rules) inScratch(name string) bool { return leadsBelow(name, r.Scratch) }

// removable reports whether a name is in the scratch folder, wherever its link points.
func (r Rules) removable(name string) bool {
	folder, base := path.Split(name)
	return base != "" && base != ".." && r.inScratch(folder)
}

// takesWrites requires that an existing target is a regular file: a write to a pipe would
// block, one to a device would reach it.
func takesWrites(name string) error {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s exists and is not a regular file: %w", name, ErrNotAllowed)
	}
	return nil
}

// runsPrograms are kernel settings that name a program for the kernel to run.
var runsPrograms = []string{
	"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hotplug", "/proc/sys/kernel/poweroff_cmd",
	"/proc/sys/fs/binfmt_misc", "/sys/kernel/uevent_helper", "/sys/kernel/debug", "/sys/kernel/config", "/proc/sys/kernel/usermodehelper",
}

// agentOfGroups is the release agent of control groups version 1, also the path of a program.
const agentOfGroups = "release_agent"

func runs(name string) bool {
	return path.Base(name) == agentOfGroups || slices.ContainsFunc(runsPrograms, func(p string) bool { return below(name, p) })
}

// kernel reports whether a file is a kernel setting.
func kernel(name string) bool { return below(name, "/sys") || below(name, "/proc/sys") }
