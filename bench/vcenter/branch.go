package vcenter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"

	"plimsoll/internal/vsphere/sim"
)

// Command is the argument by which this program serves a simulator in a process of its own, for jobs on its
// standard input.
const Command = "vcenter-station"

// order is the first line on the standard input.
type order struct{ Original bool }

// job is every other line.
type job struct {
	Way     string
	Weights int // of the mix that take part
}

// outcome is the answer to a line.
type outcome struct {
	Rate, Cost      float64 // operations per second; ms of CPU for one
	Address, Prints string  // of the server; of the first answer, like those that follow
	VMs             []string
	Path            string // of one more VM
	Error           string
}

// Serve is the other process.
func Serve(in io.Reader, out io.Writer) error {
	if err := os.Setenv(secret, "secret"); err != nil {
		return err
	}
	log.SetOutput(io.Discard) // of the simulator's words on each connection
	jobs, answers := json.NewDecoder(in), json.NewEncoder(out)
	var o order
	if err := jobs.Decode(&o); err != nil {
		return err
	}
	s, err := open(o.Original)
	if err != nil {
		return err
	}
	defer s.close()
	if !o.Original { // as the command vcenter does
		sim.CollectLess()
	}
	first := outcome{Address: s.server.URL().Host, Prints: s.server.Thumbprints().SHA1 + " " + s.server.Thumbprints().SHA256, Path: "/DC0/vm/" + s.vms[drivers].Name}
	for i := range drivers {
		first.VMs = append(first.VMs, s.vms[i].Self.Value)
	}
	if err := answers.Encode(first); err != nil {
		return err
	}
	for {
		var j job
		if err := jobs.Decode(&j); err != nil {
			return nil // the parent has ended
		}
		var got outcome
		var failed error
		if got.Rate, got.Cost, failed = s.rate(s.wait(j.Way), j.Weights); failed != nil {
			got.Error = failed.Error()
		}
		if err := answers.Encode(got); err != nil {
			return err
		}
	}
}

// branch is such a process.
type branch struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	jobs    *json.Encoder
	answers *json.Decoder
	first   outcome
}

func start(original bool) (*branch, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b := &branch{cmd: exec.Command(program, Command)}
	b.cmd.Stderr = os.Stderr
	if b.in, err = b.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	b.jobs, b.answers = json.NewEncoder(b.in), json.NewDecoder(out)
	if b.first, err = b.ask(order{original}); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// ask sends a line and reads the answer.
func (b *branch) ask(line any) (got outcome, err error) {
	if err := b.jobs.Encode(line); err != nil {
		return got, err
	}
	if err := b.answers.Decode(&got); err != nil {
		return got, fmt.Errorf("the simulator's process: %w", err)
	}
	if got.Error != "" {
		return got, errors.New(got.Error)
	}
	return got, nil
}

func (b *branch) rate(j job) (outcome, error) { return b.ask(j) }

func (b *branch) close() error { return errors.Join(b.in.Close(), b.cmd.Wait()) }
