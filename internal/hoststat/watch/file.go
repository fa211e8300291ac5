package watch

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Save writes the answer to a new file of a folder, named after the host, and returns its path.
func (a *Answer) Save(folder, host string) (string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("save the recording of %s: %w", host, err)
	}
	base := strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r == '@' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, strings.TrimLeft(host, "."))
	for n := 1; ; n++ {
		path := filepath.Join(folder, fmt.Sprintf("%s-%d.json.gz", base, n))
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("save the recording of %s: %w", host, err)
		}
		if err := errors.Join(a.write(f), f.Close()); err != nil {
			return "", fmt.Errorf("save the recording of %s in %s: %w", host, path, errors.Join(err, os.Remove(path)))
		}
		return path, nil
	}
}

func (a *Answer) write(w io.Writer) error {
	packed := gzip.NewWriter(w)
	return errors.Join(json.NewEncoder(packed).Encode(a), packed.Close())
}

// Open reads a recording that Save wrote.
func Open(path string) (*Answer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read a recording: %w", err)
	}
	defer f.Close()
	a, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("read recording %s: %w", path, err)
	}
	return a, nil
}

// Ask restricts the question to processes of the recording: those of a service, by name or
// systemd unit, and others by their numbers.
func (a *Answer) Ask(job Job) error {
	if job.Service == "" && len(job.Processes) == 0 {
		return nil
	}
	var focus []int
	for i := range a.Recording.Mean.Processes {
		p := &a.Recording.Mean.Processes[i]
		if slices.Contains(job.Processes, p.PID) || job.Service != "" && (p.Name == job.Service || inUnit(p.Group, job.Service)) {
			focus = append(focus, p.PID)
		}
	}
	for _, pid := range job.Processes {
		if !slices.Contains(focus, pid) {
			return fmt.Errorf("find process %d in the recording: %w", pid, ErrUnknown)
		}
	}
	if len(focus) == 0 {
		return fmt.Errorf("find %q in the recording: %w", job.Service, ErrUnknown)
	}
	a.Focus = focus
	return nil
}

// consistent reports CPUs and NUMA nodes below 0, which no host has.
func (a *Answer) consistent() error {
	r := a.Recording
	for n, c := range r.Facts.CPUs {
		if c.Node < 0 || len(c.Siblings) > 0 && slices.Min(c.Siblings) < 0 || len(c.Cache) > 0 && slices.Min(c.Cache) < 0 {
			return fmt.Errorf("CPU %d has a NUMA node or a neighbour below 0", n)
		}
	}
	for n := -1; n < len(r.Intervals); n++ {
		i := r.Mean
		if n >= 0 {
			i = &r.Intervals[n]
		}
		for _, p := range i.Processes {
			if p.CPU < 0 {
				return fmt.Errorf("process %d ran on CPU %d", p.PID, p.CPU)
			}
			for _, t := range p.Tasks {
				if t.CPU < 0 {
					return fmt.Errorf("thread %d ran on CPU %d", t.TID, t.CPU)
				}
			}
		}
	}
	return nil
}
