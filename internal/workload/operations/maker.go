package operations

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"plimsoll/internal/workload"
)

// maker is the lab that a VM belongs to: a process of a host, since its boot. It is written into
// the notes of the VM, so that one can tell later whether the lab still runs.
type maker struct {
	host, boot, space string // space is the process namespace
	process           int
	started           uint64 // clock ticks after the boot
}

const makerFormat = "process %d, started %d, boot %s, namespace %s, host %s"

// String is what the notes say.
func (m maker) String() string {
	return fmt.Sprintf(makerFormat, m.process, m.started, m.boot, m.space, m.host)
}

// parseMaker reads it again.
func parseMaker(line string) (m maker, err error) {
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
	m = maker{process: process, started: started, boot: next("boot"), space: next("namespace"), host: next("host")}
	if err != nil || also != nil || m.String() != line {
		return maker{}, fmt.Errorf("the note %.80q names no process", line)
	}
	return m, nil
}

// thisLab is the lab of a load. One that runs in a process of its own is a child of it.
func thisLab(env workload.Env) (maker, error) {
	process := os.Getpid()
	if env.Machine == nil {
		process = os.Getppid()
	}
	return makerOf(process)
}

func makerOf(process int) (m maker, err error) {
	m.process = process
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

// life is whether a lab runs.
type life string

const (
	alive   life = "running"
	dead    life = "dead"
	unknown life = "unknown" // it is of another host
)

// life tells from here whether the lab runs.
func (m maker) life() life {
	here, err := makerOf(os.Getpid())
	switch {
	case err != nil || m.host != here.host:
		return unknown
	case m.boot != here.boot:
		return dead
	case m.space != here.space:
		return unknown
	}
	started, err := startOf(m.process)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return dead
	case err != nil:
		return unknown
	case started != m.started:
		return dead
	}
	return alive
}

// makerIn finds the lab in the notes of a VM.
func makerIn(note string) (maker, error) {
	for line := range strings.Lines(note) {
		if m, err := parseMaker(strings.TrimSpace(line)); err == nil {
			return m, nil
		}
	}
	return maker{}, errors.New("its notes name no process")
}
