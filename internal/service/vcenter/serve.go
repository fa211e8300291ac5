package vcenter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/parameter"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/sim/clock"
	"plimsoll/internal/vsphere/sim/load"
	"plimsoll/internal/vsphere/sim/task"
)

// Command is the hidden command of plimsoll that calls Serve.
const Command = "simulate-vcenter"

const user = "plimsoll"

// order is the configuration of the process, on its standard input.
type order struct {
	Settings parameter.Settings `json:"settings"`
	Block    uint64             `json:"block"`
	Host     string             `json:"host"` // to listen at
	Dir      string             `json:"dir"`  // for the files of VMs
	Password string             `json:"password"`
}

// greeting is the line that the process prints when it listens.
type greeting struct {
	Address    string `json:"address"`
	Thumbprint string `json:"thumbprint"`
	Control    string `json:"control"` // address of the port for questions about the process
}

// spec is what the cluster of the simulator is generated from.
func (s Settings) spec(of uint64) (generate.Spec, error) {
	seed := uint64(s.Seed)
	if s.Inventory == block {
		seed += of
	}
	g := generate.Typical(s.Hosts, seed)
	g.Hosts, g.VMs, g.Mixed, g.Skew = s.Hosts, s.VMs, true, s.Skew
	if s.Load > 0 {
		g.Load = s.Load
	}
	return g, g.Validate()
}

// rounds is the time between rounds of DRS.
const rounds = 5 * time.Minute

// options are those of the simulator for an inventory.
func (s Settings) options(made *cluster.Cluster, course *generate.DemandSeries) sim.Options {
	o := sim.Options{Tasks: s.tasks(), Storage: generate.Storage(made, s.Policies), FullChecks: s.Checks == full, Behavior: s.DRS, Clusters: []*cluster.Cluster{made}}
	if s.Speed > 1 {
		o.Clock = clock.New(time.Now(), float64(s.Speed))
		o.Load = []load.Source{{Cluster: made, Course: load.Generated(course)}}
	}
	if s.DRS != "manual" && s.DRS != "off" || s.Speed > 1 {
		o.Rounds = rounds
	}
	return o
}

// tasks are the modelled times of operations.
func (s Settings) tasks() task.Options {
	o := task.Options{PerHost: s.PerHost, Times: task.Times{Seed: uint64(s.Seed), Spread: float64(s.Spread), Mean: map[string]time.Duration{}}}
	for _, name := range task.Names() {
		o.Times.Mean[name] = time.Duration(s.Time)
	}
	return o
}

// Serve serves a simulator until the context ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("read the options: %w", err)
	}
	s := defaults()
	if err := parameter.Decode(&s, o.Settings); err != nil {
		return err
	}
	spec, err := s.spec(o.Block)
	if err != nil {
		return err
	}
	// The simulator has folders where temporary files are. There they go with this one if the process is killed.
	if err := os.Setenv("TMPDIR", o.Dir); err != nil {
		return fmt.Errorf("choose a folder for the simulator: %w", err)
	}
	made, course := generate.WithCourse(spec)
	of := s.options(made, course)
	of.Listen, of.User, of.Password, of.Folder = net.JoinHostPort(o.Host, "0"), user, o.Password, o.Dir
	server, err := sim.Start(ctx, of)
	if err != nil {
		return err
	}
	g := greeting{Thumbprint: server.Thumbprints().SHA256}
	return errors.Join(g.serve(ctx, s, server.URL().String(), out), server.Close())
}

// serve greets, and answers questions about the process until the context ends.
func (g greeting) serve(ctx context.Context, s Settings, at string, out io.Writer) error {
	vcenter, err := url.Parse(at)
	if err != nil {
		return fmt.Errorf("the address of the simulator: %w", err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(vcenter.Hostname(), "0"))
	if err != nil {
		return fmt.Errorf("listen for questions about the simulator: %w", err)
	}
	g.Address, g.Control = vcenter.Host, l.Addr().String()
	if err := json.NewEncoder(out).Encode(g); err != nil {
		return errors.Join(err, l.Close())
	}
	server := http.Server{Handler: control(s), ReadHeaderTimeout: answering}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("answer questions about the simulator: %w", err)
	}
	return nil
}

// answering bounds the reading of a question.
const answering = 10 * time.Second
