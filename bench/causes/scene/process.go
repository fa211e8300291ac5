package scene

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a process of the scene, in a process group of its own.
type Process struct {
	PID   int
	Meter *Meter // of what it prints, where the command has a reader
	cmd   *exec.Cmd
	ends  syscall.Signal
	done  chan struct{}
	err   error
	asked bool // to end
	said  tailWriter
}

// Command is how a process is started.
type Command struct {
	Argv  []string
	CPUs  string         // such as "0-1"; all where empty
	Group *Group         // control group, where given
	Files int            // limit of open files, where not 0
	Net   string         // network namespace, where given
	Env   []string       // in addition
	Reads Reader         // of its output, where it is measured
	Ends  syscall.Signal // asks it to end; SIGTERM where 0
}

// argv has the program behind those that confine it.
func (c Command) argv() []string {
	var argv []string
	if c.Group != nil {
		script := ""
		for _, file := range c.Group.files {
			script += "echo $$ >" + file + " && "
		}
		argv = append(argv, "sh", "-c", script+`exec "$@"`, "sh")
	}
	if c.Net != "" {
		argv = append(argv, "ip", "netns", "exec", c.Net)
	}
	if c.CPUs != "" {
		argv = append(argv, "taskset", "-c", c.CPUs)
	}
	if c.Files > 0 {
		argv = append(argv, "prlimit", fmt.Sprintf("--nofile=%d:%d", c.Files, c.Files), "--")
	}
	return append(argv, c.Argv...)
}

// Start starts a process that ends with the scene, or with this program.
func (s *Scene) Start(c Command) (*Process, error) {
	argv := c.argv()
	p := &Process{cmd: exec.Command(argv[0], argv[1:]...), done: make(chan struct{}), ends: c.Ends}
	if p.ends == 0 {
		p.ends = syscall.SIGTERM
	}
	p.cmd.Dir = s.Dir
	p.cmd.Env = append(os.Environ(), c.Env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	if c.Reads != nil {
		p.Meter = &Meter{}
		lines := &lineWriter{each: func(line string) {
			if sample, ok := c.Reads(line); ok {
				p.Meter.add(sample)
			}
		}}
		p.cmd.Stdout, p.cmd.Stderr = both{&p.said, lines}, both{&p.said, lines}
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", strings.Join(argv, " "), err)
	}
	p.PID = p.cmd.Process.Pid
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	s.processes = append(s.processes, p)
	s.Undo(p.End)
	return p, nil
}

// Figures is the meter of a process that was started, or the error of its start.
func Figures(p *Process, err error) (*Meter, error) {
	if err != nil {
		return nil, err
	}
	return p.Meter, nil
}

// Server starts a process and waits until it listens on a TCP address.
func (s *Scene) Server(c Command, address string) (*Process, error) {
	p, err := s.Start(c)
	if err != nil {
		return nil, err
	}
	return p, s.Listening(p, address)
}

// Listening waits until a process accepts connections at a TCP address.
func (s *Scene) Listening(p *Process, address string) error {
	err := s.Wait(p.cmd.Args[0]+" listens on "+address, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil || p.ended()
	})
	return errors.Join(err, p.Failed())
}

// Part starts a part of this program, under a name that the kernel shows: a client, a server, a hog.
func (s *Scene) Part(name string, c Command) (*Process, error) {
	c.Argv = append([]string{"causes-program"}, c.Argv...)
	return s.Named(name, s.self, c)
}

// Named starts a program under another name, with the arguments of the command.
func (s *Scene) Named(name, program string, c Command) (*Process, error) {
	link := s.Path("bin/" + name)
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Path("bin"), 0o755); err != nil {
		return nil, err
	}
	if err := os.Symlink(path, link); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("give %s the name %s: %w", program, name, err)
	}
	c.Argv = append([]string{link}, c.Argv...)
	return s.Start(c)
}

func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Failed is the error of a process that has ended before its time.
func (p *Process) Failed() error {
	if !p.ended() {
		return nil
	}
	if p.asked {
		return nil
	}
	return fmt.Errorf("%s has ended: %v: %s", strings.Join(p.cmd.Args, " "), p.err, p.said.text())
}

// Failed is the error of the processes that have ended before their time.
func (s *Scene) Failed() (err error) {
	for _, p := range s.processes {
		err = errors.Join(err, p.Failed())
	}
	return err
}

// signal sends a signal to the process and to those that it has started.
func (p *Process) signal(one syscall.Signal) { _ = syscall.Kill(-p.PID, one) } // they may have ended

// End ends the process with all that it has started.
func (p *Process) End() error {
	p.asked = true
	p.signal(p.ends)
	select {
	case <-p.done:
	case <-time.After(patience / 3):
	}
	p.signal(syscall.SIGKILL)
	select {
	case <-p.done:
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%s (%d) did not end", strings.Join(p.cmd.Args, " "), p.PID)
	}
}

// Port is a TCP port that was free when it was asked for.
func Port() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Local is an address of this host.
func Local(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// both writes to two.
type both struct {
	tail  *tailWriter
	lines *lineWriter
}

func (b both) Write(p []byte) (int, error) {
	_, _ = b.tail.Write(p)
	return b.lines.Write(p)
}

// tailWriter keeps the last bytes that were written.
type tailWriter struct {
	sync.Mutex
	kept []byte
}

func (w *tailWriter) Write(p []byte) (int, error) {
	w.Lock()
	defer w.Unlock()
	w.kept = append(w.kept, p...)
	w.kept = w.kept[max(0, len(w.kept)-tail):]
	return len(p), nil
}

func (w *tailWriter) text() string {
	w.Lock()
	defer w.Unlock()
	return last(w.kept)
}

// lineWriter calls a function with each complete line.
type lineWriter struct {
	sync.Mutex
	rest []byte
	each func(string)
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.Lock()
	defer w.Unlock()
	w.rest = append(w.rest, p...)
	for {
		end := bytes.IndexByte(w.rest, '\n')
		if end < 0 {
			return len(p), nil
		}
		scan := bufio.NewScanner(bytes.NewReader(w.rest[:end]))
		for scan.Scan() {
			w.each(scan.Text())
		}
		w.rest = w.rest[end+1:]
	}
}
