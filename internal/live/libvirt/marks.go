package libvirt

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// markEnding is the extension of the file, beside the list of hosts, with the hosts in
// maintenance.
const markEnding = ".maintenance"

// mostMarks is the maximum size of the file, in bytes.
const mostMarks = 1 << 20

// maintained lists the hosts in maintenance.
func (f *file) maintained() (map[string]bool, error) {
	text, err := os.ReadFile(f.name + markEnding)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]bool{}, nil
	}
	if err == nil && len(text) > mostMarks {
		err = fmt.Errorf("%s is larger than %d bytes", f.name+markEnding, mostMarks)
	}
	if err != nil {
		return nil, fmt.Errorf("read which hosts are in maintenance: %w", err)
	}
	return parseMarks(string(text)), nil
}

// escape precedes a name that would otherwise be read as something else.
const escape = `\`

// parseMarks parses one name per line. Lines with # are comments.
func parseMarks(text string) map[string]bool {
	marks := map[string]bool{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
			continue
		}
		if name := strings.TrimPrefix(line, escape); name != "" {
			marks[name] = true
		}
	}
	return marks
}

// markLine is the line of a name.
func markLine(name string) string {
	if strings.HasPrefix(name, "#") || strings.HasPrefix(name, escape) {
		return escape + name
	}
	return name
}

// mark adds a host to the file, or removes it. Several programs may do so concurrently.
func (f *file) mark(host string, enter bool) (err error) {
	lock, err := os.Open(f.name)
	if err != nil {
		return fmt.Errorf("lock the list of hosts: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock the list of hosts: %w", err)
	}
	marks, err := f.maintained()
	if err != nil {
		return err
	}
	if marks[host] == enter {
		return nil
	}
	if marks[host] = true; !enter {
		delete(marks, host)
	}
	if err := f.writeMarks(slices.Sorted(maps.Keys(marks))); err != nil {
		return fmt.Errorf("write which hosts are in maintenance: %w", err)
	}
	return nil
}

func (f *file) writeMarks(marks []string) error {
	name := f.name + markEnding
	if len(marks) == 0 {
		return os.Remove(name)
	}
	text := "# Hosts in maintenance: plimsoll moves no VM to them. A name per line.\n"
	for _, name := range marks {
		text += markLine(name) + "\n"
	}
	temporary, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+"-*")
	if err != nil {
		return err
	}
	_, err = temporary.WriteString(text)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}
