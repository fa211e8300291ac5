package initramfs

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"strings"
)

// Modes of an entry (S_IFMT and permissions).
const (
	modeKind = 0o170000
	modeDir  = 0o040000
	modeFile = 0o100000
	modeChar = 0o020000
)

// Entry is one file of an archive.
type Entry struct {
	Name    string // without a slash in front
	Mode    uint32 // type and permissions, as in stat(2)
	Major   uint32 // of a device
	Minor   uint32
	Content []byte
}

const (
	newc      = "070701" // the format that the kernel reads, without checksums
	trailer   = "TRAILER!!!"
	headSize  = 110 // the magic number and 13 numbers of 8 hexadecimal digits
	alignment = 4
)

// writeArchive writes entries in the given order, with zero times and owners, and inodes
// counted from one: equal entries give equal bytes.
func writeArchive(w io.Writer, entries []Entry) error {
	b := bufio.NewWriter(w)
	for i, e := range entries {
		if err := writeEntry(b, e, i+1); err != nil {
			return err
		}
	}
	if err := writeEntry(b, Entry{Name: trailer}, 0); err != nil {
		return err
	}
	return b.Flush()
}

func writeEntry(w io.Writer, e Entry, inode int) error {
	if len(e.Content) > 1<<31-1 {
		return fmt.Errorf("file %s: %d bytes are too large for the format", e.Name, len(e.Content))
	}
	links := 1
	if e.Mode&modeKind == modeDir {
		links = 2
	}
	name := e.Name + "\x00"
	if _, err := fmt.Fprintf(w, newc+"%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%s%s",
		inode, e.Mode, 0, 0, links, 0, len(e.Content), 0, 0, e.Major, e.Minor, len(name), 0,
		name, padding(headSize+len(name))); err != nil {
		return err
	}
	if _, err := w.Write(e.Content); err != nil {
		return err
	}
	_, err := io.WriteString(w, padding(len(e.Content)))
	return err
}

func padding(n int) string { return "\x00\x00\x00"[:(alignment-n%alignment)%alignment] }

// mostName is the maximum length of a file name, in bytes.
const mostName = 4096

// guestName is the name of a file in a guest in the form of an archive.
func guestName(name string) (string, error) {
	clean := strings.TrimPrefix(path.Clean("/"+name), "/")
	if clean == "" || clean == trailer || strings.ContainsAny(name, "\x00\n") || len(clean) >= mostName {
		return "", fmt.Errorf("%q is not a valid file name in a guest", name)
	}
	return clean, nil
}
