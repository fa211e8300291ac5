package foreign

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	longestLine = 16 << 20 // bytes: the header of esxtop has tens of thousands of columns
	mostText    = 64 << 20 // bytes of a document that is read whole
)

// Text is the output of a tool, read in bounded memory. It drops the byte order mark of UTF-8,
// and decodes UTF-16, which Windows tools write.
type Text struct {
	in     *bufio.Reader
	lines  *bufio.Scanner
	line   string
	number int
}

// NewText returns the text of a file.
func NewText(r io.Reader) *Text {
	in := bufio.NewReader(r)
	mark, _ := in.Peek(3) // an error comes again with the first line
	switch {
	case bytes.HasPrefix(mark, []byte{0xEF, 0xBB, 0xBF}):
		_, _ = in.Discard(3)
	case bytes.HasPrefix(mark, []byte{0xFF, 0xFE}):
		_, _ = in.Discard(2)
		in = bufio.NewReader(&wide{in: in, order: binary.LittleEndian})
	case bytes.HasPrefix(mark, []byte{0xFE, 0xFF}):
		_, _ = in.Discard(2)
		in = bufio.NewReader(&wide{in: in, order: binary.BigEndian})
	}
	t := &Text{in: in, lines: bufio.NewScanner(in)}
	t.lines.Buffer(nil, longestLine)
	return t
}

// Next reads the next line, without its end, and reports whether there is one.
func (t *Text) Next() bool {
	if !t.lines.Scan() {
		return false
	}
	t.number++
	t.line = t.lines.Text() // without \r, too
	return true
}

// Line is the present line.
func (t *Text) Line() string { return t.line }

// Err is the error that ended the lines early, nil at the end of the text.
func (t *Text) Err() error {
	err := t.lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("line %d is longer than %d MiB", t.number+1, longestLine>>20)
	}
	return err
}

// Errorf is an error at the present line.
func (t *Text) Errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %w", max(1, t.number), fmt.Errorf(format, args...))
}

// All reads the text whole.
func (t *Text) All() ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(t.in, mostText+1))
	if err != nil {
		return nil, err
	}
	if len(data) > mostText {
		return nil, fmt.Errorf("it is larger than %d MiB", mostText>>20)
	}
	return data, nil
}

// Documents decodes each JSON document of the text. Errors name the line.
func Documents[T any](t *Text) ([]T, error) {
	data, err := t.All()
	if err != nil {
		return nil, err
	}
	var all []T
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var one T
		start := decoder.InputOffset()
		err := decoder.Decode(&one)
		switch {
		case errors.Is(err, io.EOF) && len(all) > 0:
			return all, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("it is empty")
		case err != nil:
			return nil, jsonError(data, start, err)
		}
		all = append(all, one)
	}
}

// jsonError names the line of an error in a document that begins at start.
func jsonError(data []byte, start int64, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("line %d: truncated JSON", lineAt(data, int64(len(data))))
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: invalid JSON: %s", lineAt(data, syntax.Offset), strings.TrimPrefix(syntax.Error(), "invalid "))
	case errors.As(err, &kind):
		return fmt.Errorf("line %d: %s is a JSON %s, which does not fit the format", lineAt(data, start+kind.Offset), cmp.Or(kind.Field, "the document"), kind.Value)
	}
	return err
}

func lineAt(data []byte, offset int64) int {
	end := max(0, min(offset, int64(len(data))))
	return 1 + bytes.Count(bytes.TrimRight(data[:end], "\n"), []byte("\n"))
}

// wide decodes UTF-16.
type wide struct {
	in    io.Reader
	order binary.ByteOrder
	left  []byte
	err   error // that comes after what is left
}

// Read yields UTF-8.
func (w *wide) Read(p []byte) (int, error) {
	for len(w.left) < len(p) && w.err == nil {
		var c rune
		if c, w.err = w.next(); w.err == nil {
			w.left = utf8.AppendRune(w.left, c)
		}
	}
	if len(w.left) == 0 {
		return 0, w.err
	}
	n := copy(p, w.left)
	w.left = append(w.left[:0], w.left[n:]...)
	return n, nil
}

func (w *wide) next() (rune, error) {
	c, err := w.unit()
	if err != nil || !utf16.IsSurrogate(c) {
		return c, err
	}
	low, err := w.unit()
	return utf16.DecodeRune(c, low), err
}

func (w *wide) unit() (rune, error) {
	var two [2]byte
	if _, err := io.ReadFull(w.in, two[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("truncated UTF-16")
		}
		return 0, err
	}
	return rune(w.order.Uint16(two[:])), nil
}

// Decoded is the beginning of a file as UTF-8.
func Decoded(head []byte) []byte {
	text, _ := io.ReadAll(NewText(bytes.NewReader(head)).in) // it may end within a character
	return text
}
