package classifier

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"plimsoll/internal/images"
)

const (
	firstBuffer = 64 << 10
	mostBuffer  = 512 << 10 // more than any image takes
	draining    = time.Second
)

// inbox is what has come over a connection and is not used yet.
type inbox struct {
	conn     *net.TCPConn
	direct   direct
	buffer   []byte
	from, to int
}

func (i *inbox) data() []byte { return i.buffer[i.from:i.to] }

// more waits for more data.
func (i *inbox) more() error {
	if i.from > 0 {
		i.to = copy(i.buffer, i.data())
		i.from = 0
	}
	if i.to == len(i.buffer) {
		if len(i.buffer) >= mostBuffer {
			return fmt.Errorf("more than %d bytes without an end", mostBuffer)
		}
		i.buffer = append(i.buffer, make([]byte, len(i.buffer))...)
	}
	n, err := i.direct.Read(i.buffer[i.to:])
	if i.to += n; n > 0 {
		return nil
	}
	return err
}

// line waits for a line, without its end.
func (i *inbox) line() ([]byte, error) {
	for {
		if end := bytes.IndexByte(i.data(), '\n'); end >= 0 {
			line := i.data()[:end]
			i.from += end + 1
			return line, nil
		}
		if err := i.more(); err != nil {
			return nil, err
		}
	}
}

// converse serves a connection to its end.
func (s *server) converse(c *net.TCPConn) {
	fast, err := newDirect(c)
	if err != nil {
		return
	}
	in := &inbox{conn: c, direct: fast, buffer: make([]byte, firstBuffer)}
	if err := in.more(); err != nil {
		return
	}
	if first := in.data()[0]; first != '{' && (first >= '0' && first <= '9' || first == '\n') {
		s.stream(in)
		return
	}
	for {
		line, err := in.line()
		if err != nil {
			return
		}
		h, err := images.ParseHello(line)
		if err != nil {
			s.refuse(c, err.Error())
			_, _ = fmt.Fprintf(c, "%s%s\n", images.Refused, err) // of a client that may be gone
			linger(c)
			return
		}
		if h.Ask == "" {
			if writeLine(c, s.description()) == nil {
				s.answer(in, h.Encoding)
			}
			return
		}
		if writeLine(c, s.tell(h.Ask)) != nil {
			return
		}
	}
}

func writeLine(c net.Conn, v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = c.Write(append(text, '\n'))
	}
	return err
}

func (s *server) description() images.Description {
	return images.Description{
		Plimsoll: images.Protocol, Version: images.Version,
		Model: s.model.name, SHA256: s.model.hash, Input: s.model.input, Engine: s.order.Engine,
	}
}

// linger lets a client read the last line: a close with data that was not read would reset the
// connection.
func linger(c *net.TCPConn) {
	_ = c.CloseWrite()
	_ = c.SetReadDeadline(time.Now().Add(draining))
	_, _ = io.Copy(io.Discard, c)
}

var jobs = sync.Pool{New: func() any {
	return &job{numbers: make([]float32, images.Numbers), done: make(chan struct{}, 1)}
}}

// read passes images on to the engines, and to out in their order. Its error says what is wrong
// with the last one; it is ErrEnd for an empty line, and nil where the client has ended.
func (s *server) read(in *inbox, d *images.Decoder, out chan<- *job) error {
	for n := 1; ; n++ {
		j := jobs.Get().(*job)
		for {
			label, used, err := d.Next(in.data(), j.numbers)
			if used > 0 && err == nil {
				in.from += used
				j.label, j.bytes = label, used
				break
			}
			if err == nil {
				s.valve.pass()
				if err = in.more(); err == nil {
					continue
				}
				switch left := len(in.data()); {
				case errors.Is(err, io.EOF) && left > 0:
					err = fmt.Errorf("the connection ended within it, after %d bytes", left)
				case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
					return nil
				}
			}
			if errors.Is(err, images.ErrEnd) {
				in.from += used
				return err
			}
			return fmt.Errorf("image %d: %w", n, err)
		}
		s.counts.received.Add(int64(j.bytes))
		select {
		case s.queue <- j:
		case <-s.over:
			return nil
		}
		select {
		case out <- j:
		case <-s.over:
			return nil
		}
	}
}

// answer answers the images of a connection.
func (s *server) answer(in *inbox, e images.Encoding) {
	pending := make(chan *job, ordered)
	var writer sync.WaitGroup
	writer.Go(func() { s.write(in.direct, pending) })
	err := s.read(in, images.NewDecoder(e, s.model.input), pending)
	if err != nil && !errors.Is(err, images.ErrEnd) {
		s.refuse(in.conn, err.Error())
		j := &job{refusal: err.Error(), done: make(chan struct{}, 1)}
		j.done <- struct{}{}
		select {
		case pending <- j:
		case <-s.over:
		}
	}
	close(pending)
	writer.Wait()
	if err != nil {
		linger(in.conn)
	}
}

// write sends the answers in order. Those that are ready are sent together.
func (s *server) write(c io.Writer, pending <-chan *job) {
	var out []byte
	flush := func() {
		if len(out) > 0 {
			_, _ = c.Write(out) // the reader sees that the client is gone
			out = out[:0]
		}
	}
	defer flush()
	for {
		var j *job
		var more bool
		select {
		case j, more = <-pending:
		default:
			flush()
			j, more = <-pending
		}
		if !more {
			return
		}
		select {
		case <-j.done:
		default:
			flush()
			select {
			case <-j.done:
			case <-s.over:
				return
			}
		}
		if j.refusal != "" {
			out = append(append(append(out, images.Refused...), j.refusal...), '\n')
			return
		}
		out = append(out, '0'+j.class, '\n')
		jobs.Put(j)
	}
}

// stream takes the lines of the published kit, without answers.
func (s *server) stream(in *inbox) {
	encoding, err := s.sniff(in)
	if err != nil {
		return
	}
	begin := time.Now()
	pending := make(chan *job, ordered)
	var sum images.Stream
	var collector sync.WaitGroup
	collector.Go(func() {
		for j := range pending {
			select {
			case <-j.done:
			case <-s.over:
				return
			}
			sum.Images++
			sum.Bytes += int64(j.bytes)
			s.counts.streamed.Add(1)
			s.counts.streamedBytes.Add(int64(j.bytes))
			if j.class == j.label {
				sum.Correct++
				s.counts.streamedCorrect.Add(1)
			}
			jobs.Put(j)
		}
	})
	err = s.read(in, images.NewDecoder(encoding, s.model.input), pending)
	close(pending)
	collector.Wait()
	sum.Seconds = time.Since(begin).Seconds()
	switch {
	case errors.Is(err, images.ErrEnd):
		_ = writeLine(in.conn, sum) // to a client that may be gone
	case err != nil:
		s.refuse(in.conn, err.Error())
		_, _ = fmt.Fprintf(in.conn, "%s%s\n", images.Refused, err)
	}
	linger(in.conn)
}

// sniff tells the encoding of lines by the first of them: pixels have no decimal point.
func (s *server) sniff(in *inbox) (images.Encoding, error) {
	for {
		line, _, whole := bytes.Cut(in.data(), []byte("\n"))
		switch {
		case bytes.IndexByte(line, '.') >= 0:
			return images.FloatText, nil
		case whole:
			return images.IntText, nil
		}
		if err := in.more(); err != nil {
			return images.FloatText, err
		}
	}
}
