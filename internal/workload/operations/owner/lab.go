// Package owner tells whose the VMs of loads are: by their names, by their notes, and by whether the
// lab that created them still runs.
package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Lab is the lab that a VM belongs to: a process of a host, since its boot. It is written into
// the notes of the VM, so that one can tell later whether the lab still runs.
type Lab struct {
	host, boot, space string // space is the process namespace
	Process           int
	started           uint64 // clock ticks after the boot
}

const labFormat = "process %d, started %d, boot %s, namespace %s, host %s"

// String is what the notes say.
func (m Lab) String() string {
	return fmt.Sprintf(labFormat, m.Process, m.started, m.boot, m.space, m.host)
}

// parseLab reads it again.
func parseLab(line string) (m Lab, err error) {
	rest := line
	next := func(word string) (text string) {
		found := false
		if rest, found = strings.CutPrefix(rest, word+" "); !found {
			return ""
		}
		if word != "host" {
			text, rest, _ = strings.Cut(rest, ", ")
			return text
		}
		return rest
	}
	process, err := strconv.Atoi(next("process"))
	started, also := strconv.ParseUint(next("started"), 10, 64)
	m = Lab{Process: process, started: started, boot: next("boot"), space: next("namespace"), host: next("host")}
	if err != nil || also != nil || m.String() != line {
		return Lab{}, fmt.Errorf("the note %.80q names no process", line)
	}
	return m, nil
}

// This is the lab of this process. A load that runs in a process of its own is a child of it.
func This(child bool) (Lab, error) {
	if child {
		return labOf(os.Getppid())
	}
	return labOf(os.Getpid())
}

func labOf(process int) (m Lab, err error) {
	m.Process = process
	if m.host, err = os.Hostname(); err != nil {
		return m, fmt.Errorf("the name of this host: %w", err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return m, fmt.Errorf("the boot of this host: %w", err)
	}
	m.boot = strings.TrimSpace(string(boot))
	if m.space, err = os.Readlink("/proc/self/ns/pid"); err != nil {
		return m, fmt.Errorf("the namespace of this process: %w", err)
	}
	m.started, err = startOf(process)
	return m, err
}

// startOf is when a process started, in clock ticks after the boot.
func startOf(process int) (uint64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", process, err)
	}
	const field = 19 // of those after the name, which may have spaces
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	if fields := strings.Fields(rest); len(fields) > field {
		return strconv.ParseUint(fields[field], 10, 64)
	}
	return 0, fmt.Errorf("process %d: its state has too few fields", process)
}

// Life is whether a lab runs.
type Life string

// The lives of a lab.
const (
	Running Life = "running"
	Dead    Life = "dead"
	Unknown Life = "unknown" // it is of another host
)

// Life tells from here whether the lab runs.
func (m Lab) Life() Life {
	here, err := labOf(os.Getpid())
	switch {
	case err != nil || m.host != here.host:
		return Unknown
	case m.boot != here.boot:
		return Dead
	case m.space != here.space:
		return Unknown
	}
	started, err := startOf(m.Process)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Dead
	case err != nil:
		return Unknown
	case started != m.started:
		return Dead
	}
	return Running
}

// LabIn finds the lab in the notes of a VM.
func LabIn(note string) (Lab, error) {
	for line := range strings.Lines(note) {
		if m, err := parseLab(strings.TrimSpace(line)); err == nil {
			return m, nil
		}
	}
	return Lab{}, errors.New("its notes name no process")
}

const (
	// Prefix is that of the names of VMs.
	Prefix = "plimsoll-op-"
	work   = "made by plimsoll, workload operations"
)

// Mark are the first lines of the notes of an owner's VMs.
func Mark(owner string) string { return work + "\nowner " + owner }

// Note are the notes of a VM that a lab creates for an owner.
func Note(owner string, l Lab) string { return Mark(owner) + "\n" + l.String() }
