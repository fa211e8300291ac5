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

// below tells whether a path is a folder or lies in it, with all steps upward
// taken.
func below(name, folder string) bool {
	clean := path.Clean(name)
	return path.IsAbs(clean) && (clean == path.Clean(folder) || strings.HasPrefix(clean, path.Clean(folder)+"/"))
}

// lead follows all links of a path on this machine and returns where it leads. What is not there yet lies where its folder
// leads. Steps upward are refused: after a link they lead elsewhere than they seem to.
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
	at, err := filepath.EvalSymlinks(at) // of a link that leads to nothing, an error
	if err != nil {
		return "", err
	}
	return path.Join(at, rest), nil
}

// leadsBelow tells whether a path lies in a folder, by name and with all links followed.
func leadsBelow(name, folder string) bool {
	to, err := lead(name)
	home, failed := lead(folder)
	return err == nil && failed == nil && below(name, folder) && below(to, home)
}

func (r Rules) inScratch(name string) bool { return leadsBelow(name, r.Scratch) }

// removable tells whether a name stands in the scratch folder, wherever it leads.
func (r Rules) removable(name string) bool {
	folder, base := path.Split(name)
	return base != "" && base != ".." && r.inScratch(folder)
}

// takesWrites wants what is in the way of a file to be one: a write to a pipe would wait, and one to a device would go to it.
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

// agentOfGroups is a file of control groups of version 1 that names a program as well.
const agentOfGroups = "release_agent"

func runs(name string) bool {
	return path.Base(name) == agentOfGroups || slices.ContainsFunc(runsPrograms, func(p string) bool { return below(name, p) })
}

// kernel tells whether a file is a kernel setting.
func kernel(name string) bool { return below(name, "/sys") || below(name, "/proc/sys") }
