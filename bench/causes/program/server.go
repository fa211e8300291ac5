package program

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// serve answers lines. Threads of the operating system take requests from all connections, so that
// the number of threads is the number of workers.
func serve(ctx context.Context, o options) error {
	l, err := listen(o)
	if err != nil {
		return err
	}
	defer l.Close()
	jobs := make(chan job, 1<<16)
	var m futex
	runtime.GOMAXPROCS(max(o.threads, runtime.NumCPU()))
	for range o.threads {
		go func() {
			runtime.LockOSThread()
			for j := range jobs {
				time.Sleep(o.pause)
				labour(o.work - o.hold)
				if o.hold > 0 {
					m.lock()
					labour(o.hold)
					m.unlock()
				}
				j.answer <- struct{}{}
			}
		}()
	}
	go func() {
		<-ctx.Done()
		l.Close()
	}()
	for {
		conn, err := l.Accept()
		if err != nil {
			return nil // the context has ended
		}
		if o.short { // answer before the next connection is accepted: a server with one thread for everything
			answer(conn, jobs)
			continue
		}
		go answer(conn, jobs)
	}
}

type job struct{ answer chan struct{} }

func answer(conn net.Conn, jobs chan job) {
	defer conn.Close()
	in, done := bufio.NewReader(conn), make(chan struct{}, 1)
	for {
		if _, err := in.ReadString('\n'); err != nil {
			return
		}
		jobs <- job{done}
		<-done
		if _, err := conn.Write([]byte("done\n")); err != nil {
			return
		}
	}
}

// listen listens with a listen queue of a length, which package net does not offer.
func listen(o options) (net.Listener, error) {
	if o.backlog == 0 {
		return net.Listen("tcp", o.listen)
	}
	host, port, err := net.SplitHostPort(o.listen)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, err
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "listener")
	defer file.Close() // FileListener has a duplicate
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return nil, err
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Port: number, Addr: [4]byte(net.ParseIP(host).To4())}); err != nil {
		return nil, fmt.Errorf("bind %s: %w", o.listen, err)
	}
	if err := syscall.Listen(fd, o.backlog); err != nil {
		return nil, err
	}
	return net.FileListener(file)
}

// futex is the mutex of U. Drepper, "Futexes are tricky" (2011), section 6: threads wait in the
// kernel, as those of a C program do. 0: free, 1: locked, 2: locked and others wait.
type futex struct{ word atomic.Uint32 }

const (
	futexWait = 0 | 128 // FUTEX_WAIT_PRIVATE
	futexWake = 1 | 128
)

func (f *futex) lock() {
	if f.word.CompareAndSwap(0, 1) {
		return
	}
	for f.word.Swap(2) != 0 {
		syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&f.word)), futexWait, 2, 0, 0, 0)
	}
}

func (f *futex) unlock() {
	if f.word.Swap(0) == 2 {
		syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&f.word)), futexWake, 1, 0, 0, 0)
	}
}
