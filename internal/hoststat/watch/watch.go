// Package watch takes recordings of hosts: of this one, and of machines with a copy of the
// program, which runs there as a subprocess.
package watch

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/hoststat/interval"
	"plimsoll/internal/platform"
)

// Command is the argument that starts the subprocess which watches a machine.
const Command = "host-watch"

// Job is what to watch and how long.
type Job struct {
	Every     time.Duration `json:"every"` // between readings
	Length    time.Duration `json:"length"`
	Processes []int         `json:"processes,omitempty"` // that the question is about
	Service   string        `json:"service,omitempty"`   // the same, by name, systemd unit or listening port
}

// Answer is what was seen.
type Answer struct {
	Recording *hoststat.Recording `json:"recording,omitempty"`
	Focus     []int               `json:"focus,omitempty"` // processes that the question is about
	Own       []int               `json:"own"`             // this program and the session that it runs in
	Root      bool                `json:"root"`
	Error     string              `json:"error,omitempty"`
	Unknown   bool                `json:"unknown,omitempty"` // the error is that there is no such service
}

// ErrUnknown is the error of a process or service that the host does not have.
var ErrUnknown = errors.New("no such process, systemd unit or listening port")

// Host watches one host repeatedly.
type Host struct{ reader *hoststat.Reader }

// Here is this host.
func Here() *Host { return &Host{hoststat.NewReader(hoststat.Local())} }

// Watch watches the host. When the context ends it returns what was seen until then. It calls
// progress, unless nil, with the seconds passed.
func (h *Host) Watch(ctx context.Context, job Job, progress func(seconds float64)) (*Answer, error) {
	h.reader.Focus = slices.Clone(job.Processes)
	for _, pid := range job.Processes {
		if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err != nil {
			return nil, fmt.Errorf("find process %d: %w", pid, ErrUnknown)
		}
	}
	if job.Service != "" {
		of, err := find(h.reader, job.Service)
		if err != nil {
			return nil, err
		}
		h.reader.Focus = append(h.reader.Focus, of...)
	}
	recording, err := interval.Watch(ctx, h.reader, job.Every, job.Length, progress)
	if err != nil {
		return nil, err
	}
	a := &Answer{Recording: recording, Focus: h.reader.Focus, Own: session(os.Getpid()), Root: os.Geteuid() == 0}
	if job.Service != "" { // those that began meanwhile
		for i := range recording.Mean.Processes {
			if p := &recording.Mean.Processes[i]; p.Name == job.Service || inUnit(p.Group, job.Service) {
				a.Focus = append(a.Focus, p.PID)
			}
		}
	}
	slices.Sort(a.Focus)
	a.Focus = slices.Compact(a.Focus)
	return a, nil
}

// find are the processes of a service: those with its name, those of its systemd unit, or those
// of the program that listens on a port.
func find(r *hoststat.Reader, service string) (all []int, err error) {
	s := r.Read(0)
	name := service
	if port, err := strconv.Atoi(service); err == nil {
		name = ""
		if s.Network == nil {
			return nil, fmt.Errorf("find port %d: no sockets: %s", port, s.Missing["sockets"])
		}
		for _, l := range s.Network.Listeners {
			if l.Port == port && l.PID > 0 {
				all, name = append(all, l.PID), l.Program
			}
		}
	}
	for i := range s.Processes {
		p := &s.Processes[i]
		groups, _ := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/cgroup") // it may have ended
		if p.Name == name && name != "" || name == service && inUnit(string(groups), service) {
			all = append(all, p.PID)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("find %q: %w", service, ErrUnknown)
	}
	return all, nil
}

// inUnit reports whether a control group is that of a systemd unit, or below it.
func inUnit(group, unit string) bool {
	for part := range strings.FieldsFuncSeq(group, func(c rune) bool { return c == '/' || c == '\n' }) {
		if part == unit || part == unit+".service" || part == unit+".scope" {
			return strings.Contains(part, ".")
		}
	}
	return false
}

// session is this process and those that it was started through: the agent, a shell, the
// server of a remote session.
func session(pid int) (all []int) {
	through := []string{"plimsoll", "plimsoll-agent", "sh", "bash", "dash", "sshd", "sshd-session", "sshd-auth", "sudo"}
	for len(all) < 16 && pid > 1 {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		name, rest := between(string(text))
		if err != nil || len(all) > 0 && !slices.Contains(through, name) {
			break
		}
		all = append(all, pid)
		f := strings.Fields(rest)
		if len(f) < 2 {
			break
		}
		pid, _ = strconv.Atoi(f[1]) // 0 ends the loop
	}
	return all
}

// between splits /proc/PID/stat at its name.
func between(stat string) (name, rest string) {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return "", ""
	}
	return stat[open+1 : end], stat[end+1:]
}

// Serve is the subprocess: it reads a job, watches this host and writes an answer. When the
// context ends, it answers with what it has seen.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var job Job
	if err := json.NewDecoder(in).Decode(&job); err != nil {
		return fmt.Errorf("read the job from standard input: %w", err)
	}
	answer, err := Here().Watch(ctx, job, nil)
	if err != nil {
		answer = &Answer{Error: err.Error(), Unknown: errors.Is(err, ErrUnknown)}
	}
	if err := answer.write(out); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

// tardy is how long a machine may take beyond the time to watch.
const tardy = 30 * time.Second

// There watches another machine. When the context ends, the machine answers with what it has
// seen.
func There(ctx context.Context, m platform.Machine, job Job) (*Answer, error) {
	carrier, ok := m.(platform.Carrier)
	if !ok {
		return nil, fmt.Errorf("machine %s has no copy of plimsoll", m.Name())
	}
	self, err := carrier.Self(ctx)
	if err != nil {
		return nil, fmt.Errorf("find plimsoll on machine %s: %w", m.Name(), err)
	}
	text, err := json.Marshal(job)
	if err != nil {
		return nil, fmt.Errorf("encode the job: %w", err)
	}
	stop := make(chan struct{})
	release := context.AfterFunc(ctx, func() { close(stop) })
	defer release()
	bounded, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), job.Length+tardy, errors.New("it did not answer in time"))
	defer cancel()
	result, err := m.Run(bounded, platform.Command{Argv: []string{self, Command}, Stdin: bytes.NewReader(text), Stop: stop})
	if err != nil {
		return nil, fmt.Errorf("watch machine %s: %w", m.Name(), err)
	}
	if result.Exit != 0 {
		return nil, fmt.Errorf("watch machine %s: %s", m.Name(), strings.TrimSpace(string(result.Stderr)))
	}
	a, err := read(bytes.NewReader(result.Stdout))
	if err != nil {
		return nil, fmt.Errorf("read the answer of machine %s: %w", m.Name(), err)
	}
	return a, nil
}

// mostAnswer bounds an answer in bytes.
const mostAnswer = 256 << 20

func read(text io.Reader) (*Answer, error) {
	packed, err := gzip.NewReader(text)
	if err != nil {
		return nil, err
	}
	a := &Answer{}
	if err := json.NewDecoder(io.LimitReader(packed, mostAnswer)).Decode(a); err != nil {
		return nil, err
	}
	switch {
	case a.Unknown:
		return nil, ErrUnknown
	case a.Error != "":
		return nil, errors.New(a.Error)
	case a.Recording == nil || a.Recording.Facts == nil || a.Recording.Mean == nil:
		return nil, errors.New("it holds no recording")
	}
	return a, a.consistent()
}
