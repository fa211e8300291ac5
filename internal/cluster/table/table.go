// Package table reads text files of rows and columns strictly: every error has its file and
// line, and no row is guessed.
package table

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// mostLine is the maximum length of a line, in bytes.
const mostLine = 64 << 10

// Reader reads the rows of one file. Empty lines are numbered, but skipped.
type Reader struct {
	file    string
	sep     string
	in      *bufio.Reader
	line    int64
	columns []string
	fields  []string
	open    bool
}

// NewReader reads rows whose columns are separated by sep, one per name. The name of the file
// appears in errors.
func NewReader(file string, r io.Reader, sep string, columns ...string) *Reader {
	return &Reader{file: file, sep: sep, in: bufio.NewReaderSize(r, mostLine), columns: columns}
}

// Header reads the first row, which must contain the names of the columns.
func (t *Reader) Header() error {
	got, err := t.Next()
	if err == io.EOF {
		return t.Errorf("the file is empty; expected the header %q", strings.Join(t.columns, t.sep))
	}
	if err != nil {
		return err
	}
	for i, name := range got {
		if name != t.columns[i] {
			return t.Errorf("column %d is %q; expected %q", i+1, short(name), t.columns[i])
		}
	}
	return nil
}

// Next is the next row, with fields trimmed, valid until the next call; io.EOF after the last.
func (t *Reader) Next() ([]string, error) {
	for {
		text, err := t.read()
		if err != nil {
			return nil, err
		}
		if text == "" {
			continue
		}
		return t.cut(text)
	}
}

func (t *Reader) read() (string, error) {
	raw, err := t.in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		t.line++
		return "", t.Errorf("the line is longer than %d bytes: not a table of this format", mostLine)
	case err == io.EOF && len(raw) == 0:
		return "", io.EOF
	case err != nil && err != io.EOF:
		return "", fmt.Errorf("read %s: %w", t.file, err)
	}
	t.line++
	t.open = err == io.EOF
	text := strings.TrimSpace(string(raw))
	if t.line == 1 {
		text = strings.TrimPrefix(text, "\ufeff")
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", t.Errorf("the line is not text: not a table of this format")
	}
	return text, nil
}

func (t *Reader) cut(text string) ([]string, error) {
	t.fields = t.fields[:0]
	for field := range strings.SplitSeq(text, t.sep) {
		t.fields = append(t.fields, strings.TrimSpace(field))
	}
	switch n := len(t.fields); {
	case n < len(t.columns) && t.open:
		return nil, t.Errorf("the last line has %d of %d columns and no newline: the file is truncated", n, len(t.columns))
	case n != len(t.columns):
		return nil, t.Errorf("%d columns separated by %q; expected %d: %s", n, t.sep, len(t.columns), strings.Join(t.columns, t.sep+" "))
	}
	return t.fields, nil
}

// Open reports whether the row is the last and has no newline: its last field may be
// truncated.
func (t *Reader) Open() bool { return t.open }

// Line is the line number of the row.
func (t *Reader) Line() int64 { return t.line }

// Errorf is an error about the row.
func (t *Reader) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s", t.file, max(t.line, 1), fmt.Sprintf(format, args...))
}

// Whole is a column as an integer from 0 to most.
func (t *Reader) Whole(column int, most int64) (int64, error) {
	text := t.fields[column]
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && !strings.HasPrefix(text, "-"), err == nil && n > most:
		return 0, t.complain(column, "is above the maximum of %d", most)
	case err == nil && n < 0 || errors.Is(err, strconv.ErrRange):
		return 0, t.complain(column, "is below 0")
	case err != nil:
		return 0, t.complain(column, "is not an integer")
	}
	return n, nil
}

// Number is a column as a number from 0 to most.
func (t *Reader) Number(column int, most float64) (float64, error) {
	text := t.fields[column]
	x, err := strconv.ParseFloat(text, 64)
	switch {
	case err == nil && math.IsNaN(x):
		return 0, t.complain(column, "is not finite")
	case math.IsInf(x, 1), err == nil && x > most:
		return 0, t.complain(column, "is above the maximum of %s", strconv.FormatFloat(most, 'g', -1, 64))
	case math.IsInf(x, -1), err == nil && x < 0:
		return 0, t.complain(column, "is below 0")
	case err != nil, strings.ContainsAny(text, "xXpP_"):
		return 0, t.complain(column, "is not a number")
	}
	return x + 0, nil
}

func (t *Reader) complain(column int, format string, args ...any) error {
	return t.Errorf("%s %q %s", t.columns[column], short(t.fields[column]), fmt.Sprintf(format, args...))
}

// short is a text, truncated for an error.
func short(text string) string {
	if len(text) > 40 {
		return strings.ToValidUTF8(text[:40], "") + "..."
	}
	return text
}
