package program

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

var sink atomic.Uint64 // keeps the compiler from leaving work out

// load makes requests on connections, as fast as they are answered or at a rate.
func load(ctx context.Context, o options) error {
	runtime.GOMAXPROCS(o.threads)
	var t tally
	for i := range o.connections {
		go func() {
			each := time.Duration(0)
			if o.rate > 0 {
				each = time.Duration(float64(time.Second) * float64(o.connections) / o.rate)
				if !o.burst {
					time.Sleep(each * time.Duration(i) / time.Duration(o.connections))
				}
			}
			session(ctx, o, each, &t)
		}()
	}
	return t.print(ctx, os.Stdout)
}

// timeout is how long an answer is waited for.
const timeout = 5 * time.Second

// session makes requests one after another until the context ends. At a rate, requests are due at
// fixed times, from which their latency counts.
func session(ctx context.Context, o options, each time.Duration, t *tally) {
	var c *caller
	due := time.Now()
	for ctx.Err() == nil {
		if each > 0 {
			time.Sleep(time.Until(due))
		} else {
			due = time.Now()
		}
		var err error
		if c == nil {
			c, err = dial(ctx, o)
		}
		if err == nil {
			err = c.ask()
		}
		t.done(due, err)
		if c != nil && (err != nil || o.short) {
			c.conn.Close()
			c = nil
		}
		if err != nil && each == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		due = due.Add(each)
	}
}

// caller is a connection with a request that it repeats.
type caller struct {
	conn     net.Conn
	in       *bufio.Reader
	request  []byte
	keys     int // of which a request reads some at random
	batch    int // so many
	protocol string
}

func dial(ctx context.Context, o options) (*caller, error) {
	d := net.Dialer{Timeout: timeout}
	conn, err := d.DialContext(ctx, "tcp", o.to)
	if err != nil {
		return nil, err
	}
	c := &caller{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), protocol: o.protocol, keys: o.keys, batch: o.batch}
	switch o.protocol {
	case "http":
		connection := "keep-alive"
		if o.short {
			connection = "close"
		}
		c.request = fmt.Appendf(nil, "GET /%s HTTP/1.1\r\nHost: causes\r\nAccept-Encoding: gzip\r\nConnection: %s\r\n\r\n", o.file, connection)
	case "redis":
		c.request = []byte("*2\r\n$3\r\nGET\r\n$3\r\nkey\r\n")
		if o.heavy {
			c.request = []byte("*2\r\n$8\r\nBITCOUNT\r\n$3\r\nbig\r\n")
		}
		if o.size > 0 { // writes
			c.request = fmt.Appendf(nil, "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$%d\r\n%s\r\n", int(o.size), strings.Repeat("x", int(o.size)))
		}
	case "memcached":
		c.request = []byte("get key\r\n")
	default:
		c.request = []byte("please\n")
	}
	return c, nil
}

// ask sends the request and reads the answer.
func (c *caller) ask() error {
	if err := c.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if c.keys > 0 {
		c.request = fmt.Appendf(c.request[:0], "*%d\r\n$4\r\nMGET\r\n", 1+c.batch)
		for range c.batch {
			key := fmt.Sprint("key:", rand.IntN(c.keys))
			c.request = fmt.Appendf(c.request, "$%d\r\n%s\r\n", len(key), key)
		}
	}
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	if c.keys > 0 {
		if _, err := c.in.ReadString('\n'); err != nil { // the number of values
			return err
		}
		for range c.batch - 1 {
			if err := c.answer(); err != nil {
				return err
			}
		}
	}
	return c.answer()
}

// answer reads an answer, or a value of one that has several.
func (c *caller) answer() error {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return err
	}
	length := 0
	switch {
	case c.protocol == "http":
		if !strings.Contains(line, " 200 ") {
			return errors.New(line)
		}
		if length, err = c.headers(); err != nil {
			return err
		}
		if length == chunked {
			return c.chunks()
		}
	case c.protocol == "redis" && line[0] == '-':
		return errors.New(line)
	case c.protocol == "redis" && line[0] == '$':
		if length, _ = strconv.Atoi(strings.TrimSpace(line[1:])); length >= 0 {
			length += len("\r\n")
		}
	}
	_, err = io.CopyN(io.Discard, c.in, int64(max(length, 0)))
	return err
}

// headers reads those of an HTTP answer and returns its length.
func (c *caller) headers() (length int, err error) {
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return 0, err
		}
		if line = strings.TrimSpace(line); line == "" {
			return length, nil
		}
		switch name, value, _ := strings.Cut(line, ": "); strings.ToLower(name) {
		case "content-length":
			if length, err = strconv.Atoi(value); err != nil {
				return 0, err
			}
		case "transfer-encoding":
			length = chunked
		}
	}
}

// chunked is the length of an answer that comes in chunks.
const chunked = -1

// chunks reads an answer up to its empty chunk.
func (c *caller) chunks() error {
	for {
		line, err := c.in.ReadString('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line), 16, 32)
		if err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, c.in, n+2); err != nil || n == 0 {
			return err
		}
	}
}
