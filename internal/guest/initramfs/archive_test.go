package initramfs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// mostContent is the largest file that is read, in bytes.
const mostContent = 1 << 30

// readArchive reads a newc archive to its end.
func readArchive(r io.Reader) ([]Entry, error) {
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
