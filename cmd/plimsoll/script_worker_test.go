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

// workerName is the name of the program that runs many command lines.
const workerName = "plimsoll-worker"

// mostWorkers is how many of them work for the scripts.
const mostWorkers = 3

// variables are those of a script's environment that a worker sets.
var variables = []string{"PATH", "HOME", "TMPDIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "SECRET"}

// A commandLine is one command line of a script.
type commandLine struct {
	Folder      string
	Environment map[string]string
	Arguments   []string
}

// A result is the outcome of a command line.
type result struct {
	Status         int
	Stdout, Stderr []byte
}

// serveCommands runs command lines until there are none. To start the program takes many times as
// long as most of its commands.
func serveCommands(requests io.Reader, replies io.Writer) error {
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	os.Stdin, os.Stdout = nothing, os.Stderr // no command may read requests or write replies
	in, out := json.NewDecoder(requests), json.NewEncoder(replies)
	for {
		var o commandLine
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
		if err := out.Encode(result{Status: status, Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}); err != nil {
			return err
		}
	}
}

// A worker is a process that runs command lines, one after another.
type worker struct {
	requests *json.Encoder
	replies  *json.Decoder
}

// workers keeps processes that run command lines.
type workers struct {
	t    *testing.T
	idle chan *worker // nil for one that was not needed yet
}

func newWorkers(t *testing.T) *workers {
	c := &workers{t: t, idle: make(chan *worker, mostWorkers)}
	for range mostWorkers {
		c.idle <- nil
	}
	return c
}

// start starts a worker, which ends with the test.
func (c *workers) start() (*worker, error) {
	cmd := exec.Command(workerName)
	cmd.Env, cmd.Stderr = []string{"GOGC=400"}, os.Stderr
	requests, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	replies, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c.t.Cleanup(func() {
		_ = requests.Close() // without requests it ends
		if err := cmd.Wait(); err != nil {
			c.t.Errorf("%s: %v", workerName, err)
		}
	})
	return &worker{json.NewEncoder(requests), json.NewDecoder(replies)}, nil
}

// run has a command line of plimsoll run as a script would run it.
func (c *workers) run(ts *testscript.TestScript, args []string) (o result) {
	w, after := <-c.idle, (*worker)(nil)
	defer func() { c.idle <- after }()
	if w == nil {
		var err error
		w, err = c.start()
		ts.Check(err)
	}
	environment := map[string]string{}
	for _, name := range variables {
		environment[name] = ts.Getenv(name)
	}
	ts.Check(w.requests.Encode(commandLine{Folder: ts.MkAbs("."), Environment: environment, Arguments: args}))
	ts.Check(w.replies.Decode(&o))
	after = w // one that failed gets no more requests
	return o
}

// apart reports whether a command line needs a process of its own: it may start others, go on or
// read standard input.
func apart(args []string) bool {
	return len(args) > 0 && slices.Contains(changing, args[0]) || slices.Contains(args, "-")
}
