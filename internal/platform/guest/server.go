package guest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"plimsoll/internal/guest/nbd"
)

// server serves a guest's disk from a process of its own, so that its CPU time can be
// told. It ends with this process, whatever ends that.
type server struct {
	route  route
	socket string
	cmd    *exec.Cmd
	in     io.WriteCloser
	said   bytes.Buffer // on standard error; to be read once it has ended
	ended  chan struct{}

	asking sync.Mutex // held to ask and to hear
	out    *bufio.Reader
	limit  func(time.Time) error // of reading from it
}

// line is what the server says next.
func (s *server) line() ([]byte, error) {
	if err := s.limit(time.Now().Add(5 * time.Second)); err != nil {
		return nil, err
	}
	return s.out.ReadBytes('\n')
}

// serveDisk starts what the settings put between a guest's disk and its file; nil where
// there is nothing.
func serveDisk(ctx context.Context, p route, program, socket, file string) (*server, error) {
	if p.server == noServer {
		return nil, nil
	}
	s := &server{route: p, socket: socket, ended: make(chan struct{})}
	if err := os.Remove(s.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("serve the guest's disk: %w", err)
	}
	s.cmd = exec.Command(program, nbd.Command)
	if p.server == nbdkit {
		kit, err := exec.LookPath(nbdkit)
		if err != nil {
			return nil, fmt.Errorf("io_filter %s: nbdkit is missing: apt install nbdkit (%w)", p, err)
		}
		s.cmd = exec.Command(kit, p.kitArguments(s.socket, file)...)
	}
	err := s.start()
	if err == nil && p.server == ownServer {
		_, err = s.in.Write(nbd.Order{Path: s.socket, Disk: "file:" + file, Filters: p.filters}.Line())
	}
	if err == nil {
		err = s.listens(ctx)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("serve the guest's disk by %s: %w: %s", p, err, strings.TrimSpace(s.said.String()))
	}
	return s, nil
}

// start starts the process from a thread that lives as long: the kernel ends the process
// when the thread that started it ends.
func (s *server) start() error {
	s.cmd.Stderr = &s.said
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return errors.Join(err, in.Close())
	}
	defer theirs.Close()
	s.cmd.Stdout, s.cmd.WaitDelay = theirs, time.Second
	s.in, s.out, s.limit = in, bufio.NewReader(out), out.SetReadDeadline
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := s.cmd.Start()
		started <- err
		if err == nil {
			_ = s.cmd.Wait() // what it said tells more
		}
		_ = out.Close()
		close(s.ended)
	}()
	return <-started
}

// listens waits until the socket takes connections.
func (s *server) listens(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		if info, err := os.Stat(s.socket); err == nil && info.Mode()&os.ModeSocket != 0 {
			if s.route.server == nbdkit {
				return nil
			}
			line, err := s.line()
			if err == nil && string(line) != nbd.Command+" listens\n" {
				err = fmt.Errorf("it said %q", line)
			}
			return err
		}
		select {
		case <-again.C:
		case <-s.ended:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return errors.Join(errors.New("it does not listen"), ctx.Err())
		}
	}
}

// seen is what the server itself says that it does.
func (s *server) seen() (route, error) {
	select {
	case <-s.ended:
		return route{}, fmt.Errorf("the server of the guest's disk has ended: %s", strings.TrimSpace(s.said.String()))
	default:
	}
	if s.route.server == nbdkit {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.cmd.Process.Pid))
		return kitRoute(strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")), err
	}
	st, err := s.status()
	if err != nil {
		return route{}, err
	}
	apart := 0
	for _, f := range st.Filters {
		if strings.HasPrefix(f, "daemon:") {
			apart++
		}
	}
	switch {
	case st.Clients == 0:
		return route{}, errors.New("the server of the guest's disk has no client")
	case apart != len(st.Apart):
		return route{}, fmt.Errorf("of %d filters with a process of their own %d have one", apart, len(st.Apart))
	}
	return route{server: ownServer, filters: st.Filters}, nil
}

// status asks plimsoll's own server.
func (s *server) status() (st nbd.Status, err error) {
	s.asking.Lock()
	defer s.asking.Unlock()
	if _, err := io.WriteString(s.in, nbd.Ask); err != nil {
		return st, fmt.Errorf("ask the server of the guest's disk: %w", err)
	}
	line, err := s.line()
	if err == nil {
		err = json.Unmarshal(line, &st)
	}
	if err != nil {
		return st, fmt.Errorf("ask the server of the guest's disk: %w", err)
	}
	return st, nil
}

// used is the CPU time of the server, and of its filters with a process of their own.
func (s *server) used() (time.Duration, error) {
	ids := []int{s.cmd.Process.Pid}
	if s.route.server == ownServer {
		st, err := s.status()
		if err != nil {
			return 0, err
		}
		ids = append(ids, st.Apart...)
	}
	var sum time.Duration
	for _, id := range ids {
		t, err := runOf(id)
		if err != nil {
			return 0, fmt.Errorf("CPU time of the server of the guest's disk: %w", err)
		}
		sum += t
	}
	return sum, nil
}

// runOf is the CPU time of a process.
func runOf(id int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, fmt.Errorf("%.80q is no state of a process", text)
	}
	user, err1 := strconv.ParseInt(f[11], 10, 48)
	system, err2 := strconv.ParseInt(f[12], 10, 48)
	const tick = 10 * time.Millisecond // USER_HZ
	return time.Duration(user+system) * tick, errors.Join(err1, err2)
}

// stop ends the server. QEMU is gone by then.
func (s *server) stop() {
	if s.cmd.Process == nil {
		return
	}
	_ = s.in.Close() // plimsoll's own ends by itself then
	if s.route.server == nbdkit {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
	}
	kill := time.AfterFunc(3*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	<-s.ended
}
