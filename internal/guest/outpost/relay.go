package outpost

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// relays pass bytes between connections of QEMU and of the lab.
type relays struct {
	order     Order
	listeners []net.Listener
	lab       chan net.Conn // of the monitor
}

// listen opens the sockets of all relays.
func (k *keeper) listen() (r *relays, err error) {
	r = &relays{order: k.order, lab: make(chan net.Conn, 1)}
	defer func() {
		if err != nil {
			r.close()
			r = nil
		}
	}()
	open := func(path string) (net.Listener, error) {
		l, err := net.Listen("unix", path)
		if err != nil {
			return nil, fmt.Errorf("listen for QEMU and the lab: %w", err)
		}
		r.listeners = append(r.listeners, l)
		return l, nil
	}
	monitor, err := open(far(k.order.Dir, relayMonitor))
	if err != nil {
		return r, err
	}
	go func() {
		if conn, err := monitor.Accept(); err == nil {
			r.lab <- conn
		}
	}()
	for _, name := range k.order.Relays {
		ours, err := open(far(k.order.Dir, name))
		if err != nil {
			return r, err
		}
		theirs, err := open(Socket(k.order.Dir, name))
		if err != nil {
			return r, err
		}
		go meet(ours, theirs)
	}
	return r, nil
}

// meet joins the first connection to each of two sockets.
func meet(ours, theirs net.Listener) {
	lab, err := ours.Accept()
	if err != nil {
		return
	}
	own, err := theirs.Accept()
	if err != nil {
		_ = lab.Close()
		return
	}
	join(lab, own)
}

// join passes bytes both ways until one end closes, and closes both.
func join(a, b net.Conn) {
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // either end may go
			_ = a.Close()
			_ = b.Close()
		})
	}
	both.Wait()
}

// monitor is QEMU's end of its monitor, whose other end is the lab's.
func (r *relays) monitor() (*os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("create a control socket: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "monitor"), os.NewFile(uintptr(fds[1]), "monitor")
	conn, err := net.FileConn(ours)
	if err = errors.Join(err, ours.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("create a control socket: %w", err), theirs.Close())
	}
	go func() { join(<-r.lab, conn) }()
	return theirs, nil
}

func (r *relays) close() {
	for _, l := range r.listeners {
		_ = l.Close()
	}
}
