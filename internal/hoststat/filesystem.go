package hoststat

import (
	"errors"
	"slices"
	"strings"

	"plimsoll/internal/platform"
)

// Space is the room of a file system.
type Space struct {
	Size, Free, Inodes, InodesFree float64 // in bytes and in inodes; free for users without privileges
}

// spacious is a Root that tells the room of file systems.
type spacious interface {
	Space(mount string) (Space, error)
}

// readFileSystems reads the room of the file systems on block devices that can be written. A
// file system that is mounted several times counts once.
func readFileSystems(r *Reader, s *State) error {
	root, ok := r.root.(spacious)
	if !ok {
		return errors.New("the host is a recording without file systems")
	}
	mounts, err := r.file("proc/self/mountinfo")
	if err != nil {
		return err
	}
	var seen []string
	for m := range platform.Mounts(mounts) {
		if !strings.HasPrefix(m.Source, "/dev/") || slices.Contains(seen, m.Source) || slices.Contains(strings.Split(m.Options, ","), "ro") {
			continue
		}
		seen = append(seen, m.Source)
		space, err := root.Space(m.Point)
		if err != nil || space.Size == 0 {
			continue
		}
		s.Files = append(s.Files, FileSystem{
			Mount: m.Point, Device: m.Source, Type: m.Type,
			Size: space.Size, Free: space.Free, Inodes: space.Inodes, InodesFree: space.InodesFree,
		})
	}
	return nil
}
