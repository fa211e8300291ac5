package ceph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"plimsoll/internal/platform"
)

// cluster is a cluster that runs.
type cluster struct {
	machine platform.Machine
	conf    string // the configuration of clients
	dir     string // of a private cluster
	osds    int    // of a private cluster

	mu   sync.Mutex
	last map[int]map[string]float64 // by OSD: its counters when they were read last
	lost map[string]float64         // those of former processes of OSDs
	pids map[int]string             // of the processes that they are of; empty where these are not known
}

func osd(n int) string { return "osd." + strconv.Itoa(n) }

// ask sends a command to the admin socket of a daemon.
func (c *cluster) ask(ctx context.Context, daemon, command string, answer any) error {
	return c.command(ctx, daemon, map[string]string{"prefix": command}, answer)
}

// command does so with arguments.
func (c *cluster) command(ctx context.Context, daemon string, command map[string]string, answer any) error {
	command["format"] = "json"
	return ask(ctx, c.machine, socketOf(c.dir, daemon), command, answer)
}

// client runs the client of the cluster.
func (c *cluster) client(ctx context.Context, stdin string, command ...string) (platform.Result, error) {
	return c.machine.Run(ctx, platform.Command{
		Argv:  append([]string{"env", "-u", "CEPH_ARGS", "ceph", "--conf", c.conf, "--connect-timeout", "10", "--format", "json"}, command...),
		Stdin: strings.NewReader(stdin),
	})
}

// monitor sends commands to the monitor through one process of the client, and returns their answers.
func (c *cluster) monitor(ctx context.Context, commands ...string) ([]json.RawMessage, error) {
	r, err := c.client(ctx, strings.Join(commands, "\n")+"\n")
	if err != nil {
		return nil, err
	}
	if r.Exit != 0 {
		return nil, fmt.Errorf("ceph ended with status %d: %s", r.Exit, strings.TrimSpace(string(r.Stderr)))
	}
	var answers []json.RawMessage
	for line := range strings.Lines(string(r.Stdout)) {
		if line = strings.TrimSpace(line); line != "" {
			answers = append(answers, json.RawMessage(line))
		}
	}
	if len(answers) != len(commands) {
		return nil, fmt.Errorf("ceph answered %d of %d commands: %s", len(answers), len(commands), strings.TrimSpace(string(r.Stderr)))
	}
	return answers, nil
}

// status is what an OSD says of itself.
type status struct {
	State  string `json:"state"`
	Groups int    `json:"num_pgs"`
	Map    int    `json:"newest_map"`
}

func (c *cluster) status(ctx context.Context, n int) (is status, err error) {
	err = c.ask(ctx, osd(n), "status", &is)
	return is, err
}

// ready fails until all OSDs run and all placement groups serve.
func (c *cluster) ready(ctx context.Context) error {
	for n := range c.osds {
		is, err := c.status(ctx, n)
		if err != nil {
			return err
		}
		if is.State != "active" {
			return fmt.Errorf("%s is %s", osd(n), is.State)
		}
		if is.Groups == 0 {
			return fmt.Errorf("%s has no placement groups yet", osd(n))
		}
	}
	busy, err := c.unsettled(ctx)
	if err == nil && busy != "" {
		err = errors.New(busy)
	}
	return err
}
