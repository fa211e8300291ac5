package iotimages

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
	"time"

	"plimsoll/internal/images"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/workload"
)

// patience limits answers outside of the load, greeting the first one.
const (
	patience = 30 * time.Second
	greeting = 5 * time.Second
)

// line is a connection to a classifier, whose answers are lines.
type line struct {
	address string
	conn    net.Conn
	in      *bufio.Reader
	hangUp  func() bool
}

// console is a connection that sends single images.
type console struct {
	line
	about images.Description
}

// connect opens a connection, which ends with the context. The errors are one line that says what
// the user can do.
func connect(ctx context.Context, env workload.Env, at load.Endpoint) (line, error) {
	until, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	conn, err := env.Dial(until, at)
	if err == nil {
		return line{at.Address, conn, bufio.NewReader(conn), context.AfterFunc(ctx, func() { _ = conn.Close() })}, nil
	}
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("nothing listens there: start the service, or correct its address: %w", err)
	case until.Err() != nil:
		err = fmt.Errorf("no answer within %s: a firewall may be in between: %w", greeting, err)
	}
	return line{}, fmt.Errorf("connect to the classifier at %s: %w", at.Address, err)
}

func (l *line) close() {
	l.hangUp()
	_ = l.conn.Close() // nothing is outstanding
}

// say sends, within a time that also holds for the next answer.
func (l *line) say(data []byte, within time.Duration) error {
	err := l.conn.SetDeadline(time.Now().Add(within))
	if err == nil {
		_, err = l.conn.Write(data)
	}
	return err
}

// hear reads an answer. A refusal of the server is an error.
func (l *line) hear() ([]byte, error) {
	text, err := l.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	text = bytes.TrimSuffix(text, []byte("\n"))
	if why, refused := bytes.CutPrefix(text, []byte(images.Refused)); refused {
		return nil, fmt.Errorf("%w: %s", load.ErrRefused, excerpt(why))
	}
	return text, nil
}

// ask sends a question, or a hello, and reads the answer.
func (l *line) ask(h images.Hello, within time.Duration) ([]byte, error) {
	err := l.say(h.Line(), within)
	if err != nil {
		return nil, err
	}
	return l.hear()
}

// call connects to the classifier, and reads its description.
func (i *iotImages) call(ctx context.Context, env workload.Env, at load.Endpoint) (*console, error) {
	l, err := connect(ctx, env, at)
	if err != nil {
		return nil, err
	}
	c := &console{line: l}
	text, err := l.ask(images.Hello{Encoding: i.encoding}, greeting)
	if err == nil {
		c.about, err = images.ParseDescription(text)
	}
	if err != nil {
		l.close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("query the classifier at %s: %w", at.Address, err)
	}
	return c, nil
}

// streams asks how many images have come one way.
func (l *line) streams() (s images.Stream, err error) {
	text, err := l.ask(images.Hello{Ask: images.Streams}, patience)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		err = fmt.Errorf("query the classifier at %s: %w", l.address, err)
	}
	return s, err
}

// counts are the counters of the classifier; nil if it does not tell them.
func (r *run) counts(ctx context.Context) map[string]float64 {
	l, err := connect(ctx, r.env, r.at)
	if err != nil {
		return nil
	}
	defer l.close()
	var all map[string]float64
	text, err := l.ask(images.Hello{Ask: images.Counts}, patience)
	if err != nil || json.Unmarshal(text, &all) != nil {
		return nil
	}
	return all
}

// spent records the CPU time of the classifier per image over a load.
func spent(before, after map[string]float64, out *measure.Recorder) {
	count := after["classifier.images"] - before["classifier.images"]
	if len(before) == 0 || count <= 0 {
		return
	}
	for name, counter := range map[string]string{"server.cpu_per_image": "classifier.cpu", "server.parse_per_image": "classifier.parse.cpu", "server.infer_per_image": "classifier.infer.cpu"} {
		if used := after[counter] - before[counter]; used >= 0 {
			out.Value(name, used/count)
		}
	}
}

// classOf parses the answer to an image.
func classOf(text []byte) (byte, error) {
	if len(text) != 1 || text[0] < '0' || text[0] > '9' {
		return 0, fmt.Errorf("the server answers an image with %q instead of a class", excerpt(text))
	}
	return text[0] - '0', nil
}

// excerpt is the beginning of an answer, for messages.
func excerpt(data []byte) string { return string(data[:min(len(data), 200)]) }
