package router

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// burst is how many packets of a port are read before the others have their turn.
const burst = 32

// loop forwards packets on its own thread until it is stopped or a device fails.
type loop struct {
	shaper  *shaper
	devices []*device
	stopped int // file descriptor of an event: readable once the loop is to end
	began   time.Time
	frame   [frameSize]byte
}

func (l *loop) now() time.Duration { return time.Since(l.began) }

func (l *loop) run() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	prefer()
	polled := []unix.PollFd{{Fd: int32(l.stopped), Events: unix.POLLIN}}
	for _, d := range l.devices {
		polled = append(polled, unix.PollFd{Fd: int32(d.fd), Events: unix.POLLIN})
	}
	for {
		l.shaper.deliver(l.now())
		var limit *unix.Timespec
		if !l.shaper.waiting.empty() {
			limit = new(unix.NsecToTimespec(int64(max(0, l.shaper.waiting.first()-l.now()))))
		}
		switch _, err := unix.Ppoll(polled, limit, nil); {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("wait for packets: %w", err)
		case polled[0].Revents != 0:
			return nil
		}
		for i := range l.devices {
			if polled[i+1].Revents == 0 {
				continue
			}
			if err := l.receive(i); err != nil {
				return fmt.Errorf("receive from port %s: %w", l.shaper.ports[i].Name, err)
			}
		}
	}
}

// receive takes packets of a port.
func (l *loop) receive(port int) error {
	for range burst {
		n, err := unix.Read(l.devices[port].fd, l.frame[:])
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		}
		l.shaper.take(port, l.frame[:n], l.now())
	}
	return nil
}

// prefer lets this thread wake up on time: the timers of the kernel are exact for it, and it comes before other programs if that is permitted. The hosts
// of a network do not take CPU time from its switches.
func prefer() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -15)
}
