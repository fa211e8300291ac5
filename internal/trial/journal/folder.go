package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"plimsoll/internal/trial/fault"
)

// LogsOf finds the undo logs of the runs in a results folder: by the folder's name, also where the folder is gone, or by what its journal
// says, where the folder was moved. Without one there is nothing to put back, unless the journal claims otherwise: then it was
// written by another user, on another host or by another program, and is not believed.
func LogsOf(dir, folder string) (logs []string, err error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find results folder: %w", err)
	}
	all, err := ListUnfinished(folder)
	if err != nil {
		return nil, err
	}
	for _, u := range all {
		if u.Dir == full {
			logs = append(logs, u.Log)
		}
	}
	if len(logs) > 0 {
		return logs, nil
	}
	if _, err := os.Stat(full); errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Refuse("there is no folder %s, and %s has no undo log of a run in it: nothing was changed", dir, folder)
	}
	entries, err := Read(dir)
	if err != nil {
		return nil, fault.Refuse("%s has no undo log of a run in %s. Nothing was changed: %w", folder, dir, err)
	}
	b := First(entries)
	for _, u := range all {
		if b != nil && u.Run == b.Run {
			return []string{u.Log}, nil
		}
	}
	if left := LeftBy(entries); len(left) > 0 {
		return nil, NotOurs(dir, folder, left)
	}
	return nil, nil
}

// NotOurs refuses to put back changes that only the journal of a folder claims.
func NotOurs(dir, folder string, left []string) error {
	const most = 10
	if len(left) > most {
		left = append(left[:most:most], fmt.Sprintf("and %d more", len(left)-most))
	}
	return fault.Refuse("%s is not the folder of a run that this user left unfinished on this host: %s has no undo log of it. Nothing was changed. According to its journal, which is not trusted, these changes were not undone: %s",
		dir, folder, strings.Join(left, "; "))
}

// CheckOwner refuses a results folder that somebody else made, or in which somebody else could replace files.
func CheckOwner(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open results folder: %w", err)
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok && !mine(s) {
		return fault.Refuse("the results folder %s belongs to user %d, not to user %d, who runs plimsoll: copy it, or run plimsoll as its owner", dir, s.Uid, os.Geteuid())
	}
	return nil
}

// Resumable refuses to go on with the run in a results folder that somebody else made, or whose journal claims changes of which this user has no
// undo log on this host.
func Resumable(dir string) error {
	if err := CheckOwner(dir); err != nil {
		return err
	}
	folder, err := UndoFolder()
	if err != nil {
		return err
	}
	if entries, err := Read(dir); errors.Is(err, fs.ErrNotExist) || err == nil && len(LeftBy(entries)) == 0 {
		return nil
	}
	_, err = LogsOf(dir, folder)
	return err
}

// join has a restore written down in the results folder as well, where that is still there and ours.
func (j *Journal) join(b *Begin) {
	entries, err := readLog(filepath.Join(b.Dir, Name))
	if first := First(entries); err != nil || first == nil || first.Run != b.Run {
		return
	}
	if l, err := openLog(filepath.Join(b.Dir, Name), 0o644); err == nil {
		j.log = l
	}
}

// agree logs in the results folder the changes that are known to be undone, where a crash kept them out, so that the
// run can be resumed.
func (j *Journal) agree() {
	u := outstanding(j.log.entries)
	for _, c := range u.Settings {
		s := c.Back(c.Former)
		_ = j.log.append(Entry{Time: j.now().UTC(), Kind: KindRestored, Setting: &s}, j.step)
	}
	for _, l := range u.Loads {
		_ = j.log.append(Entry{Time: j.now().UTC(), Kind: KindCleaned, Load: &l}, j.step)
	}
	for _, name := range u.Servers {
		_ = j.log.append(Entry{Time: j.now().UTC(), Kind: KindServed, Server: name}, j.step)
	}
}
