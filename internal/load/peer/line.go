package peer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Greeting is the first line of a reflector.
type Greeting struct {
	Plimsoll string `json:"plimsoll"` // Protocol
	Version  int    `json:"version"`
}

// Question is a line of the client: exactly one of its fields.
type Question struct {
	Test *Test `json:"test,omitempty"`
	Ask  Ask   `json:"ask,omitempty"`
}

// Ask is a client's request in a test that is ready.
type Ask string

// The requests of a client.
const (
	AskGo     Ask = "go"     // set clock and counts to zero; answered with counts
	AskCounts Ask = "counts" // answered with counts
	AskReport Ask = "report" // answered with the report
	AskStatus Ask = "status" // answered with the status; no test need be named
)

// Answer is a line of the reflector: exactly one of its fields.
type Answer struct {
	Ready  *Ready  `json:"ready,omitempty"`
	Counts *Counts `json:"counts,omitempty"`
	Report *Report `json:"report,omitempty"`
	Status *Status `json:"status,omitempty"`
	Error  string  `json:"error,omitempty"` // a question that cannot be answered
}

// longest is how long a line may be: far longer than any is.
const longest = 16 << 10

// Lines reads and writes lines of JSON.
type Lines struct {
	reader *bufio.Reader
	writer io.Writer
}

// NewLines speaks over a stream.
func NewLines(stream io.ReadWriter) *Lines {
	return &Lines{bufio.NewReaderSize(stream, longest), stream}
}

var errNotOurs = errors.New("it does not speak the protocol of plimsoll's reflector")

// Read reads the next line. A stream that ends before one begins gives io.EOF.
func (l *Lines) Read(into any) error {
	line, err := l.reader.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return fmt.Errorf("%w: a line of more than %d bytes", errNotOurs, longest)
	case errors.Is(err, io.EOF) && len(line) > 0:
		return fmt.Errorf("the connection ended within a line: %w", io.ErrUnexpectedEOF)
	case err != nil:
		return err
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", errNotOurs, err)
	}
	if d.More() {
		return fmt.Errorf("%w: more than one document on a line", errNotOurs)
	}
	return nil
}

// Write writes one line.
func (l *Lines) Write(line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = l.writer.Write(append(text, '\n'))
	return err
}
