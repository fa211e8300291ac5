// Package coresched decides which programs may use the two threads of a core at the same time, for processes of Linux: by the
// kernel's core scheduling, or by leaving one thread of each core idle. It applies a policy to a running process, and reads back
// what is in effect.
//
// Source: Documentation/admin-guide/hw-vuln/core-scheduling.rst of the kernel. Threads of a core run together only if they have the
// same cookie; a thread without a partner forces the other thread of its core to be idle.
package coresched

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"plimsoll/internal/guest/view"
	"plimsoll/internal/platform"
)

// Policy decides what may run on the threads of a core at the same time.
type Policy string

// The policies. The second one resembles SCAv1 of vSphere, and the third one SCAv2.
const (
	Default   Policy = "default"             // any two threads of any processes
	OneThread Policy = "one-thread-per-core" // one thread of each core is not used
	OneGuest  Policy = "one-guest-per-core"  // threads of one process
)

// Policies lists all.
func Policies() []Policy { return []Policy{Default, OneThread, OneGuest} }

// Parse parses a policy; an empty text is the default.
func Parse(text string) (Policy, error) {
	if text == "" {
		return Default, nil
	}
	p := Policy(text)
	if !slices.Contains(Policies(), p) {
		return "", fmt.Errorf("core_scheduling %q: must be %s, %s or %s", text, Default, OneThread, OneGuest)
	}
	return p, nil
}

// Host is what a host has for the policies.
type Host struct {
	Cores   []platform.CPUs // that this process may use, by core, in the order of their first threads
	SMT     bool            // a core has several threads, whoever may use them
	Missing error           // why the kernel does not schedule cores; nil if it does
	Own     uint64          // cookie of this process; 0 for none
}

// The reasons why a kernel does not schedule cores.
var (
	errNoKernel  = errors.New("the kernel of this host has no core scheduling: boot one with CONFIG_SCHED_CORE, as the generic kernels of Ubuntu have it (linux-image-generic)")
	errNoThreads = errors.New("cores of this host have one thread: enable SMT in the firmware, and boot without nosmt and mitigations=auto,nosmt")
)

// ThisHost reads what this host has.
func ThisHost() (h Host, err error) {
	t, err := view.Read(os.ReadFile)
	if err != nil {
		return h, fmt.Errorf("read the topology of this host: %w", err)
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil {
		return h, fmt.Errorf("read the CPUs that this process may use: %w", err)
	}
	h.Cores, h.SMT = cores(t.CPUs, set.IsSet), t.Threads() > t.Cores()
	h.Own, err = cookie(os.Getpid())
	h.Missing = missing(err)
	return h, nil
}

// cores groups the CPUs that are allowed by their core.
func cores(all []view.CPU, allowed func(int) bool) (byCore []platform.CPUs) {
	at := map[view.CPU]int{}
	for _, c := range all {
		if !allowed(c.ID) {
			continue
		}
		core := view.CPU{Socket: c.Socket, Die: c.Die, Core: c.Core}
		i, known := at[core]
		if !known {
			i, at[core] = len(byCore), len(byCore)
			byCore = append(byCore, nil)
		}
		byCore[i] = append(byCore[i], c.ID)
	}
	return byCore
}

// missing explains the error of a request for a cookie: EINVAL from kernels without core scheduling, ENODEV from those without SMT.
func missing(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EINVAL):
		return errNoKernel
	case errors.Is(err, unix.ENODEV):
		return errNoThreads
	}
	return fmt.Errorf("the kernel of this host, or a sandbox, refuses core scheduling: prctl(PR_SCHED_CORE): %w", err)
}

// smt reports whether a core has several threads that this process may use.
func (h Host) smt() bool {
	return slices.ContainsFunc(h.Cores, func(c platform.CPUs) bool { return len(c) > 1 })
}

// FirstThreads are the first CPUs of each core.
func (h Host) FirstThreads() (first platform.CPUs) {
	for _, c := range h.Cores {
		first = append(first, c[0])
	}
	slices.Sort(first)
	return first
}

// Possible is the reason why a host does not have a policy, with what to do about it.
func (p Policy) Possible(h Host) error {
	if p == Default {
		return nil
	}
	var reasons []error
	if p == OneGuest && h.Missing != nil && h.Missing != errNoThreads {
		reasons = append(reasons, h.Missing)
	}
	switch {
	case !h.SMT:
		reasons = append(reasons, errNoThreads)
	case !h.smt():
		reasons = append(reasons, errors.New("plimsoll may use one thread of each core only: start it without taskset, and outside of a cpuset"))
	}
	if p == OneGuest && h.Own != 0 {
		reasons = append(reasons, errors.New("plimsoll itself has a cookie, which its guests would inherit by default: start it without coresched"))
	}
	switch len(reasons) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("core_scheduling %s: %w", p, reasons[0])
	}
	return fmt.Errorf("core_scheduling %s: %w; and %w", p, reasons[0], reasons[1])
}
