package nbd

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
)

// session is one connection after the handshake. Its reader answers requests that do not block, and batches these answers until it
// would block; other requests get goroutines.
type session struct {
	export *Export
	prompt Prompt // nil if the device has none
	in     *bufio.Reader
	conn   net.Conn
	budget *budget

	answers []byte // of the reader, not yet written

	slots   chan struct{}
	working sync.WaitGroup

	mu     sync.Mutex // held to write
	broken error
}

const (
	inSize = 256 << 10
	// promptData is the maximum size of a request that the reader serves itself.
	promptData = 64 << 10
	answerSize = 256 << 10
)

// ServeConn serves one connection, and closes it. The error is nil if the client disconnected
// by NBD_CMD_DISC.
func (s *Server) ServeConn(ctx context.Context, conn net.Conn) error {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	s.once.Do(func() { s.budget = newBudget(mostMemory) })
	in := bufio.NewReaderSize(conn, inSize)
	h := &handshake{exports: s.Exports, in: in, out: conn}
	e, err := h.agree()
	if errors.Is(err, errEnded) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("NBD client: %w", err)
	}
	s.clients.Add(1)
	defer s.clients.Add(-1)
	c := &session{export: e, in: in, conn: conn, budget: s.budget, answers: make([]byte, 0, answerSize), slots: make(chan struct{}, mostWaiting)}
	c.prompt, _ = e.Device.(Prompt)
	err = c.serve(ctx)
	c.working.Wait()
	if err == nil {
		err = c.broken
	}
	if err != nil {
		return fmt.Errorf("NBD client of export %q: %w", e.Name, err)
	}
	return nil
}

// serve reads requests until the client disconnects.
func (c *session) serve(ctx context.Context) error {
	var head [askSize]byte
	for {
		if c.in.Buffered() < askSize {
			if err := c.flush(); err != nil {
				return err
			}
		}
		if _, err := io.ReadFull(c.in, head[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return errors.New("the client closed the connection without NBD_CMD_DISC")
			}
			return fmt.Errorf("read a request: %w", err)
		}
		if m := binary.BigEndian.Uint32(head[:]); m != magicAsk {
			return fmt.Errorf("a request starts with %#x instead of %#x", m, magicAsk)
		}
		flags, length := binary.BigEndian.Uint16(head[4:]), binary.BigEndian.Uint32(head[24:])
		r := Request{
			Operation: Operation(binary.BigEndian.Uint16(head[6:])), Length: int64(length),
			Durable: flags&askFUA != 0, Keep: flags&askNoHole != 0, cookie: binary.BigEndian.Uint64(head[8:]),
		}
		offset := binary.BigEndian.Uint64(head[16:])
		if r.Operation == disconnect {
			return c.flush()
		}
		if r.Operation == Write && r.Length > longestData {
			return fmt.Errorf("a write of %d bytes: the maximum is %d", r.Length, longestData)
		}
		if err := c.ask(ctx, &r, c.judge(&r, offset, flags)); err != nil {
			return err
		}
	}
}

// judge is the error of an invalid request.
func (c *session) judge(r *Request, offset uint64, flags uint16) error {
	size := uint64(c.export.Device.Size())
	allowed := uint16(askFUA)
	switch r.Operation {
	case Read, Write, Trim:
	case Zero:
		allowed |= askNoHole
	case Flush:
		if offset != 0 || r.Length != 0 || flags&^allowed != 0 {
			return syscall.EINVAL
		}
		return nil
	default:
		return syscall.EINVAL
	}
	switch {
	case flags&^allowed != 0, r.Length == 0, r.Operation == Read && r.Length > longestData:
		return syscall.EINVAL
	case r.Operation != Read && c.export.ReadOnly:
		return syscall.EPERM
	case offset > size || uint64(r.Length) > size-offset:
		if r.Operation == Read {
			return syscall.EINVAL
		}
		return syscall.ENOSPC
	}
	r.Offset = int64(offset)
	return nil
}

// ask starts a request, or replies that it is invalid.
func (c *session) ask(ctx context.Context, r *Request, wrong error) error {
	if wrong != nil {
		if r.Operation == Write {
			if c.in.Buffered() < int(r.Length) {
				if err := c.flush(); err != nil {
					return err
				}
			}
			if _, err := c.in.Discard(int(r.Length)); err != nil {
				return fmt.Errorf("read the data of a write: %w", err)
			}
		}
		c.answers = appendReply(c.answers, r.cookie, wrong)
		return c.flushFull()
	}
	if c.prompt != nil && (r.Length <= promptData || r.Operation > Write) {
		if done, err := c.now(r); done || err != nil {
			return err
		}
	}
	return c.later(ctx, *r)
}

// now answers a request if it does not block.
func (c *session) now(r *Request) (done bool, err error) {
	switch r.Operation {
	case Read:
		begin := len(c.answers)
		end := begin + replySize + int(r.Length)
		if end > cap(c.answers) {
			if err := c.flush(); err != nil {
				return false, err
			}
			begin, end = 0, replySize+int(r.Length)
		}
		all := c.answers[:end]
		r.Data = all[begin+replySize:]
		done, err = c.prompt.Try(r)
		if !done {
			r.Data = nil
			return false, nil
		}
		appendReply(all[:begin], r.cookie, err)
		if err != nil {
			end = begin + replySize
		}
		c.answers = all[:end]
		return true, c.flushFull()
	case Write:
		if c.in.Buffered() < int(r.Length) {
			if err := c.flush(); err != nil {
				return false, err
			}
		}
		if r.Data, err = c.in.Peek(int(r.Length)); err != nil {
			return false, fmt.Errorf("read the data of a write: %w", err)
		}
	}
	done, err = c.prompt.Try(r)
	if !done {
		r.Data = nil
		return false, nil
	}
	if r.Operation == Write {
		_, _ = c.in.Discard(len(r.Data)) // these bytes were peeked before
	}
	c.answers = appendReply(c.answers, r.cookie, err)
	return true, c.flushFull()
}

// later answers a request in a goroutine. Their number and memory are limited, so the reader
// may block here.
func (c *session) later(ctx context.Context, r Request) error {
	if err := c.flush(); err != nil {
		return err
	}
	carried := int64(0)
	if r.Operation <= Write {
		carried = r.Length
	}
	c.slots <- struct{}{}
	c.budget.take(carried)
	release := func() {
		c.budget.give(carried)
		<-c.slots
	}
	r.whole = make([]byte, replySize+carried)
	if carried > 0 {
		r.Data = r.whole[replySize:]
	}
	if r.Operation == Write {
		if _, err := io.ReadFull(c.in, r.Data); err != nil {
			release()
			return fmt.Errorf("read the data of a write: %w", err)
		}
	}
	c.working.Go(func() {
		defer release()
		err := c.export.Device.Do(ctx, &r)
		appendReply(r.whole[:0], r.cookie, err)
		end := replySize
		if r.Operation == Read && err == nil {
			end = len(r.whole)
		}
		_ = c.write(r.whole[:end]) // the reader sees any error
	})
	return nil
}

func appendReply(b []byte, cookie uint64, err error) []byte {
	b = binary.BigEndian.AppendUint32(b, magicReply)
	b = binary.BigEndian.AppendUint32(b, number(err))
	return binary.BigEndian.AppendUint64(b, cookie)
}

// flushFull writes the batched answers when there are many.
func (c *session) flushFull() error {
	if len(c.answers) < answerSize/2 {
		return nil
	}
	return c.flush()
}

// flush writes the batched answers.
func (c *session) flush() error {
	if len(c.answers) == 0 {
		return nil
	}
	err := c.write(c.answers)
	c.answers = c.answers[:0]
	return err
}

func (c *session) write(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return c.broken
	}
	if _, err := c.conn.Write(b); err != nil {
		c.broken = fmt.Errorf("answer: %w", err)
		_ = c.conn.Close()
	}
	return c.broken
}
