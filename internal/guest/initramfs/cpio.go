package initramfs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// Modes of an entry as the kernel counts them (S_IFMT and permissions).
const (
	modeKind = 0o170000
	modeDir  = 0o040000
	modeFile = 0o100000
	modeLink = 0o120000
	modeChar = 0o020000
)

// Entry is one file of an archive.
type Entry struct {
	Name    string // without a slash in front
	Mode    uint32 // kind and permissions, as stat(2) has them
	Major   uint32 // of a device
	Minor   uint32
	Content []byte // of a file, or where a link points to
}

const (
	newc      = "070701" // the format that the kernel reads, without checksums
	trailer   = "TRAILER!!!"
	headSize  = 110 // the magic number and 13 numbers of 8 hexadecimal digits
	alignment = 4
)

// writeArchive writes entries in the order given, with times and owners of zero
// and inodes counted from one: equal entries are equal bytes.
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
		return fmt.Errorf("file %s: %d bytes are more than the format holds", e.Name, len(e.Content))
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

// Limits of what is read, in bytes.
const (
	mostName    = 4096
	mostContent = 1 << 30
)

// ReadArchive reads a newc archive to its end, as tools that look into an
// initramfs do.
func ReadArchive(r io.Reader) ([]Entry, error) {
	b := bufio.NewReader(r)
	var entries []Entry
	for {
		e, err := readEntry(b)
		if err != nil {
			return nil, fmt.Errorf("read the archive, entry %d: %w", len(entries)+1, err)
		}
		if e.Name == trailer {
			return entries, nil
		}
		entries = append(entries, e)
	}
}

func readEntry(r io.Reader) (Entry, error) {
	var head [headSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Entry{}, whole(err)
	}
	if string(head[:6]) != newc {
		return Entry{}, fmt.Errorf("it begins with %q, not %q", head[:6], newc)
	}
	var field [13]uint32
	for i := range field {
		n, err := strconv.ParseUint(string(head[6+8*i:14+8*i]), 16, 32)
		if err != nil {
			return Entry{}, fmt.Errorf("number %d: %w", i+1, err)
		}
		field[i] = uint32(n)
	}
	size, length := int64(field[6]), int64(field[11])
	if length < 1 || length > mostName || size > mostContent {
		return Entry{}, fmt.Errorf("a name of %d and a content of %d bytes", length, size)
	}
	name, err := readPadded(r, length, headSize)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Name: strings.TrimSuffix(string(name), "\x00"), Mode: field[1], Major: field[9], Minor: field[10]}
	if e.Name == "" || strings.Contains(e.Name, "\x00") {
		return Entry{}, fmt.Errorf("name %q", name)
	}
	e.Content, err = readPadded(r, size, 0)
	return e, err
}

// readPadded reads n bytes that begin after before others, and what fills them up.
func readPadded(r io.Reader, n int64, before int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, n))
	if err == nil && int64(len(text)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	var fill [alignment]byte
	_, err = io.ReadFull(r, fill[:len(padding(before+int(n)))])
	return text, whole(err)
}

func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// guestName is the name of a file in a guest as an archive has it.
func guestName(name string) (string, error) {
	clean := strings.TrimPrefix(path.Clean("/"+name), "/")
	if clean == "" || clean == trailer || strings.ContainsAny(name, "\x00\n") || len(clean) >= mostName {
		return "", fmt.Errorf("%q cannot be the name of a file in a guest", name)
	}
	return clean, nil
}
