package program

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// receive accepts connections and reads all that they send.
func receive(ctx context.Context, o options) error {
	control := func(_, _ string, c syscall.RawConn) error { return tune(c, o) }
	l, err := (&net.ListenConfig{Control: control}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		<-ctx.Done()
		l.Close()
	}()
	var t tally
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go drain(conn, &t)
		}
	}()
	return t.print(ctx, os.Stdout)
}

func drain(conn net.Conn, t *tally) {
	defer conn.Close()
	block := make([]byte, 256<<10)
	for {
		n, err := conn.Read(block)
		t.add(float64(n))
		if err != nil {
			return
		}
	}
}

// send sends as much as the connections take, or bytes per second at a rate.
func send(ctx context.Context, o options) error {
	var t tally
	for range o.connections {
		d := net.Dialer{Timeout: timeout, Control: func(_, _ string, c syscall.RawConn) error { return tune(c, o) }}
		conn, err := d.DialContext(ctx, "tcp", o.to)
		if err != nil {
			return err
		}
		defer conn.Close()
		go func() {
			block := make([]byte, 64<<10)
			due := time.Now()
			for {
				n, err := conn.Write(block)
				t.add(float64(n))
				if err != nil {
					return
				}
				if o.rate > 0 {
					due = due.Add(time.Duration(float64(len(block)*o.connections) / o.rate * float64(time.Second)))
					time.Sleep(time.Until(due))
				}
			}
		}()
	}
	return t.print(ctx, os.Stdout)
}

// tune sets the buffers and the congestion control of a socket.
func tune(c syscall.RawConn, o options) (err error) {
	controlled := c.Control(func(fd uintptr) {
		if o.buffer > 0 {
			if err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, o.buffer); err != nil {
				return
			}
			if err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, o.buffer); err != nil {
				return
			}
		}
		if o.cubic {
			err = syscall.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
		}
	})
	if controlled != nil {
		return controlled
	}
	if err != nil {
		return fmt.Errorf("set an option of a socket: %w", err)
	}
	return nil
}

// packets sends small datagrams from all threads, at a rate.
func packets(ctx context.Context, o options) error {
	for range o.threads {
		conn, err := net.Dial("udp", o.to)
		if err != nil {
			return err
		}
		defer conn.Close()
		go func() {
			const burst = 32
			data, due := make([]byte, 64), time.Now()
			for {
				for range burst {
					_, _ = conn.Write(data) // the receiver counts
				}
				if o.rate > 0 {
					due = due.Add(time.Duration(burst * float64(o.threads) / o.rate * float64(time.Second)))
					time.Sleep(time.Until(due))
				}
			}
		}()
	}
	<-ctx.Done()
	return nil
}

// collect counts the datagrams that arrive, on a socket for each thread.
func collect(ctx context.Context, o options) error {
	var t tally
	share := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		controlled := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		return errors.Join(controlled, err)
	}}
	for range o.threads {
		conn, err := share.ListenPacket(ctx, "udp", o.listen)
		if err != nil {
			return err
		}
		defer conn.Close()
		go func() {
			data, n := make([]byte, 2048), 0
			for {
				if _, _, err := conn.ReadFrom(data); err != nil {
					return
				}
				if n++; n == 100 {
					t.add(float64(n))
					n = 0
				}
			}
		}()
	}
	return t.print(ctx, os.Stdout)
}
