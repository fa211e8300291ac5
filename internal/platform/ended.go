package platform

import "fmt"

// KilledError is the error of a command killed by a signal. Its effects are unknown.
type KilledError struct {
	Program, Signal string
	OutOfMemory     bool // see Result
}

// Error names the signal, and the lack of memory.
func (e *KilledError) Error() string {
	return fmt.Sprintf("%s was ended by signal %s%s", e.Program, e.Signal, NoteOutOfMemory(e.OutOfMemory))
}

// Killed is a KilledError where a signal ended the command, else nil.
func (r Result) Killed(program string) error {
	if r.Signal == "" {
		return nil
	}
	return &KilledError{program, r.Signal, r.OutOfMemory}
}

// NoteOutOfMemory ends a sentence about how a program ended; it is empty unless memory was out.
func NoteOutOfMemory(out bool) string {
	if !out {
		return ""
	}
	return ": the machine or its control group ran out of memory (OOM killer)"
}
