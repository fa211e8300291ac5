// Package hoststattest reads recorded hosts; tests only.
package hoststattest

import (
	"fmt"
	"io/fs"
	"path"

	"plimsoll/internal/hoststat"
)

// Tree is a recorded tree of files. A file "space/MOUNT/room" has the size, free bytes, inodes and
// free inodes of a file system: "space/data/room" is of /data.
func Tree(files fs.FS) hoststat.Root { return tree{files} }

type tree struct{ fs.FS }

func (t tree) Append(buffer []byte, name string) ([]byte, error) {
	text, err := fs.ReadFile(t.FS, name)
	return append(buffer, text...), err
}

func (t tree) Names(folder string) ([]string, error) {
	entries, err := fs.ReadDir(t.FS, folder)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

func (t tree) Space(mount string) (s hoststat.Space, err error) {
	text, err := fs.ReadFile(t.FS, path.Join("space", mount, "room"))
	if err == nil {
		_, err = fmt.Sscan(string(text), &s.Size, &s.Free, &s.Inodes, &s.InodesFree)
	}
	return s, err
}

func (t tree) ReadLink(name string) (string, error) { return fs.ReadLink(t.FS, name) }
