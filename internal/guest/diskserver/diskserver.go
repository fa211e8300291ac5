// Package diskserver runs the NBD server of a VM's disk as a separate process, so that its CPU
// time is measured separately. The server ends with this program, whatever ends it.
package diskserver

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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"plimsoll/internal/guest/child"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/nbd"
)

// Server is a running server.
type Server struct {
	route  spec.Route
	socket string
	cmd    *exec.Cmd
	in     io.WriteCloser
	said   bytes.Buffer // standard error; read after it has ended
	ended  chan struct{}

	asking sync.Mutex // held for a request and its response
	lost   error      // why the next response may be that of an earlier request
	out    *bufio.Reader
	limit  func(time.Time) error // sets the deadline for reads
}

// line is the next line of the server's output.
func (s *Server) line(limit time.Duration) ([]byte, error) {
	if err := s.limit(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	return s.out.ReadBytes('\n')
}

// Disk is a disk to serve.
type Disk struct {
	Route  spec.Route
	Epochs bool   // the server obeys Order; only plimsoll's own can
	Socket string // where it listens
	File   string
}

// Start starts the server of a disk, by the program that has nbd.Command; nil if its route needs none.
func Start(ctx context.Context, program string, d Disk) (*Server, error) {
	r, socket, file := d.Route, d.Socket, d.File
	if r.Server == spec.NoServer {
		return nil, nil
	}
	s := &Server{route: r, socket: socket, ended: make(chan struct{})}
	if err := os.Remove(s.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("serve the guest's disk: %w", err)
	}
	s.cmd = exec.Command(program, nbd.Command)
	if r.Server == spec.NBDKit {
		kit, err := exec.LookPath(spec.NBDKit)
		if err != nil {
			return nil, fmt.Errorf("io_filter %s: nbdkit is missing: apt install nbdkit (%w)", r, err)
		}
		s.cmd = exec.Command(kit, r.KitArguments(s.socket, file)...)
	}
	err := s.start()
	if err == nil && r.Server == spec.OwnServer {
		_, err = s.in.Write(nbd.Order{Path: s.socket, File: file, Filters: r.Filters, Epochs: d.Epochs}.Line())
	}
	if err == nil {
		err = s.listens(ctx)
	}
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("serve the guest's disk by %s: %w: %s", r, err, strings.TrimSpace(s.said.String()))
	}
	return s, nil
}

// start starts the process.
func (s *Server) start() error {
	s.cmd.Stderr = &s.said
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
	ended, err := child.Start(s.cmd)
	go func() {
		if err == nil {
			<-ended
		}
		_ = out.Close()
		close(s.ended)
	}()
	return err
}

// listens waits until the socket accepts connections.
func (s *Server) listens(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		if info, err := os.Stat(s.socket); err == nil && info.Mode()&os.ModeSocket != 0 {
			if s.route.Server == spec.NBDKit {
				return nil
			}
			line, err := s.line(mostStatus)
			if err == nil && string(line) != nbd.Command+" listens\n" {
				err = fmt.Errorf("unexpected answer %q", line)
			}
			return err
		}
		select {
		case <-again.C:
		case <-s.ended:
			return errors.New("it exited at once")
		case <-ctx.Done():
			return errors.Join(errors.New("it does not listen"), ctx.Err())
		}
	}
}

// Socket is where the server listens.
func (s *Server) Socket() string { return s.socket }

// Route returns the filters that the server itself reports.
func (s *Server) Route() (spec.Route, error) {
	select {
	case <-s.ended:
		return spec.Route{}, fmt.Errorf("the server of the guest's disk has ended: %s", strings.TrimSpace(s.said.String()))
	default:
	}
	if s.route.Server == spec.NBDKit {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.cmd.Process.Pid))
		return spec.KitRoute(strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")), err
	}
	st, err := s.Status()
	if err != nil {
		return spec.Route{}, err
	}
	apart := 0
	for _, f := range st.Filters {
		if strings.HasPrefix(f, "daemon:") {
			apart++
		}
	}
	switch {
	case st.Clients == 0:
		return spec.Route{}, errors.New("the server of the guest's disk has no client")
	case apart != len(st.Apart):
		return spec.Route{}, fmt.Errorf("of %d filters with a process of their own %d have one", apart, len(st.Apart))
	}
	return spec.Route{Server: spec.OwnServer, Filters: st.Filters}, nil
}

// Status queries plimsoll's own server.
func (s *Server) Status() (st nbd.Status, err error) {
	if err := s.ask([]byte(nbd.Ask), mostStatus, &st); err != nil {
		return st, fmt.Errorf("query the NBD server of the guest's disk: %w", err)
	}
	return st, nil
}

// ask sends a line and reads the response. After a failure nothing can be asked: a late response would be taken for the next one.
func (s *Server) ask(line []byte, limit time.Duration, response any) error {
	s.asking.Lock()
	defer s.asking.Unlock()
	if s.lost != nil {
		return s.lost
	}
	_, err := s.in.Write(line)
	var text []byte
	if err == nil {
		text, err = s.line(limit)
	}
	if err == nil {
		err = json.Unmarshal(text, response)
	}
	s.lost = err
	return err
}

const (
	mostStatus = 5 * time.Second  // for a status
	mostCommit = 30 * time.Second // for a commit
)

// Order orders a server with epochs what to do with them.
func (s *Server) Order(o nbd.Epoch) error {
	var done nbd.Outcome
	line, err := json.Marshal(o)
	if err == nil {
		err = s.ask(append(line, '\n'), mostCommit, &done)
	}
	if err == nil && done.Error != "" {
		err = errors.New(done.Error)
	}
	if err != nil {
		return fmt.Errorf("%s epoch of the guest's disk: %w", o, err)
	}
	return nil
}

// CPUTime is the CPU time of the server and of its filter processes.
func (s *Server) CPUTime() (time.Duration, error) {
	ids := []int{s.cmd.Process.Pid}
	if s.route.Server == spec.OwnServer {
		st, err := s.Status()
		if err != nil {
			return 0, err
		}
		ids = append(ids, st.Apart...)
	}
	var sum time.Duration
	for _, id := range ids {
		t, err := cpuTimeOf(id)
		if err != nil {
			return 0, fmt.Errorf("CPU time of the NBD server of the guest's disk: %w", err)
		}
		sum += t
	}
	return sum, nil
}

// cpuTimeOf is the CPU time of a process.
func cpuTimeOf(id int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0, fmt.Errorf("%.80q is not the state of a process", text)
	}
	user, err1 := strconv.ParseInt(f[11], 10, 48)
	system, err2 := strconv.ParseInt(f[12], 10, 48)
	const tick = 10 * time.Millisecond // USER_HZ
	return time.Duration(user+system) * tick, errors.Join(err1, err2)
}

// Stop ends the server, after QEMU.
func (s *Server) Stop() {
	if s.cmd.Process == nil {
		return
	}
	_ = s.in.Close() // plimsoll's own server exits on it
	if s.route.Server == spec.NBDKit {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
	}
	kill := time.AfterFunc(3*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	<-s.ended
}
