package program

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// link joins this network namespace with another by a pair of TUN devices of the same name, between
// which it carries packets with loss, delay and at a rate in bytes per second, with a queue in front of it.
func link(ctx context.Context, o options) error {
	near, err := tun(o.name)
	if err != nil {
		return err
	}
	far, err := beyond(o.namespace, o.name)
	if err != nil {
		return err
	}
	go carry(near, far, o, 1)
	go carry(far, near, o, 2)
	<-ctx.Done()
	return nil
}

// beyond makes a TUN device in a network namespace.
func beyond(namespace, name string) (*os.File, error) {
	type result struct {
		file *os.File
		err  error
	}
	made := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with its namespace
		space, err := os.Open("/run/netns/" + namespace)
		if err != nil {
			made <- result{nil, err}
			return
		}
		defer space.Close()
		if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
			made <- result{nil, fmt.Errorf("enter the network namespace %s: %w", namespace, err)}
			return
		}
		file, err := tun(name)
		made <- result{file, err}
	}()
	r := <-made
	return r.file, r.err
}

// tun makes a TUN device without packet information.
func tun(name string) (*os.File, error) {
	fd, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return nil, err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return nil, fmt.Errorf("make the device %s: %w", name, err)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// packet is a packet with the time at which it leaves the link.
type packet struct {
	due  time.Time
	data []byte
}

// largest is the size of a full packet.
const largest = 1500

// carry takes packets from one device to another.
func carry(from, to *os.File, o options, seed uint64) {
	queue := make(chan packet, 1<<16)
	go func() {
		for p := range queue {
			if wait := time.Until(p.due); wait > 0 {
				time.Sleep(wait)
			}
			_, _ = to.Write(p.data) // a device that is not up yet loses it
		}
	}()
	defer close(queue)
	random := rand.New(rand.NewPCG(seed, 3))
	free := time.Now() // when the link has sent what is in its queue
	for {
		data := make([]byte, 2048)
		n, err := from.Read(data)
		if err != nil {
			return
		}
		now := time.Now()
		if free.Before(now) {
			free = now
		}
		if random.IntN(1000) < o.loss || len(queue) == cap(queue) {
			continue
		}
		if o.rate > 0 {
			each := time.Duration(float64(n) / o.rate * float64(time.Second))
			full := time.Duration(float64(o.limit*largest) / o.rate * float64(time.Second))
			if o.limit > 0 && free.Sub(now) > full {
				continue
			}
			free = free.Add(each)
		}
		queue <- packet{free.Add(o.delay), data[:n]}
	}
}
