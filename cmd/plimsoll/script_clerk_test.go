package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// clerkName is the name of the program that carries out many command lines.
const clerkName = "plimsoll-clerk"

// mostClerks is how many of them work for the scripts.
const mostClerks = 3

// variables are those of a script's environment that a clerk sets.
var variables = []string{"PATH", "HOME", "TMPDIR", "XDG_STATE_HOME", "SECRET"}

// An order is one command line of a script.
type order struct {
	Folder      string
	Environment map[string]string
	Arguments   []string
}

// An outcome is what a command line left.
type outcome struct {
	Status         int
	Stdout, Stderr []byte
}

// carryOut carries out orders until there are none. To start the program takes many times as
// long as most of its commands.
func carryOut(orders io.Reader, outcomes io.Writer) error {
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	os.Stdin, os.Stdout = nothing, os.Stderr // no command may read orders or write outcomes
	in, out := json.NewDecoder(orders), json.NewEncoder(outcomes)
	for {
		var o order
		if err := in.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		os.Clearenv()
		for name, value := range o.Environment {
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
		if err := os.Chdir(o.Folder); err != nil {
			return err
		}
		var stdout, stderr bytes.Buffer
		status := Main(o.Arguments, &stdout, &stderr)
		if err := out.Encode(outcome{Status: status, Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}); err != nil {
			return err
		}
	}
}

// A clerk is a process that carries out orders, one after another.
type clerk struct {
	orders   *json.Encoder
	outcomes *json.Decoder
}

// clerks lends processes that carry out orders.
type clerks struct {
	t    *testing.T
	idle chan *clerk // nil for one that was not needed yet
}

func newClerks(t *testing.T) *clerks {
	c := &clerks{t: t, idle: make(chan *clerk, mostClerks)}
	for range mostClerks {
		c.idle <- nil
	}
	return c
}

// hire starts a clerk, who ends with the test.
func (c *clerks) hire() (*clerk, error) {
	cmd := exec.Command(clerkName)
	cmd.Env, cmd.Stderr = []string{"GOGC=400"}, os.Stderr
	orders, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	outcomes, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c.t.Cleanup(func() {
		_ = orders.Close() // without orders it ends
		if err := cmd.Wait(); err != nil {
			c.t.Errorf("%s: %v", clerkName, err)
		}
	})
	return &clerk{json.NewEncoder(orders), json.NewDecoder(outcomes)}, nil
}

// run has a command line of plimsoll carried out as a script would run it.
func (c *clerks) run(ts *testscript.TestScript, args []string) (o outcome) {
	who, after := <-c.idle, (*clerk)(nil)
	defer func() { c.idle <- after }()
	if who == nil {
		var err error
		who, err = c.hire()
		ts.Check(err)
	}
	environment := map[string]string{}
	for _, name := range variables {
		environment[name] = ts.Getenv(name)
	}
	ts.Check(who.orders.Encode(order{Folder: ts.MkAbs("."), Environment: environment, Arguments: args}))
	ts.Check(who.outcomes.Decode(&o))
	after = who // one that failed gets no more orders
	return o
}

// apart reports whether a command line needs a process of its own: it may start others, go on or
// read standard input.
func apart(args []string) bool {
	return len(args) > 0 && slices.Contains(changing, args[0]) || slices.Contains(args, "-")
}
