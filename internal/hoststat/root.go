package hoststat

import "io/fs"

// Root is the tree of files that a Reader reads, with proc and sys in it.
type Root interface {
	fs.FS
	// Append reads a file and appends its content to a buffer.
	Append(buffer []byte, name string) ([]byte, error)
	// Names lists a folder, in any order.
	Names(folder string) ([]string, error)
	// ReadLink is where a symbolic link points to.
	ReadLink(name string) (string, error)
}
