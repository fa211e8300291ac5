// Package minimal is a minimal client in C, a floor for the CPU time that a client needs for an operation.
package minimal

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed testdata/requests.c
var source string

// Client is the compiled client. The zero value is none.
type Client struct{ dir, program string }

// Load is what a client does: one request over and over, to a port of this machine.
type Load struct {
	Port, Request string
	Connections   int
	Length        time.Duration
	Rate          int           // for a second, on a schedule; 0 is a closed loop
	Tick          time.Duration // of the schedule
}

// Compile compiles the client, which the caller removes.
func Compile() (c Client, err error) {
	if _, err := exec.LookPath("cc"); err != nil {
		return c, errors.New("cc is not installed, so that there is no client in C to compare with")
	}
	if c.dir, err = os.MkdirTemp("", "plimsoll-bench-*"); err != nil {
		return c, err
	}
	c.program = filepath.Join(c.dir, "requests")
	build := exec.Command("cc", "-O2", "-x", "c", "-o", c.program, "-")
	build.Stdin = strings.NewReader(source)
	if out, err := build.CombinedOutput(); err != nil {
		c.Remove()
		return c, fmt.Errorf("compile the client in C: %w: %s", err, out)
	}
	return c, nil
}

// Remove removes the client.
func (c Client) Remove() { _ = os.RemoveAll(c.dir) }

// Run makes a load, and returns the CPU time for an operation in seconds.
func (c Client) Run(l Load) (cost float64, err error) {
	argv := []string{l.Port, fmt.Sprint(l.Connections), fmt.Sprint(l.Length.Seconds()), l.Request}
	if l.Rate > 0 {
		argv = append(argv, fmt.Sprint(l.Rate), fmt.Sprint(l.Tick.Microseconds()))
	}
	out, err := exec.Command(c.program, argv...).Output()
	if err != nil {
		return 0, fmt.Errorf("client in C: %w", err)
	}
	var operations int
	if _, err := fmt.Sscan(string(out), &operations, &cost); err != nil || operations == 0 {
		return 0, fmt.Errorf("the client in C made no operation: %q", out)
	}
	return cost, nil
}
