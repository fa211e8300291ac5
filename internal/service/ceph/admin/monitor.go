// Package admin talks to the daemons of a Ceph cluster: to monitors by the client ceph, to all daemons of this host by their admin sockets.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"plimsoll/internal/platform"
)

// Monitor are the monitors of a cluster, by the client ceph on a machine.
type Monitor struct {
	Machine platform.Machine
	Conf    string // the configuration of the client
}

// Run runs the client with a command and standard input.
func (m *Monitor) Run(ctx context.Context, stdin string, command ...string) (platform.Result, error) {
	return m.Machine.Run(ctx, platform.Command{
		Argv:  append([]string{"env", "-u", "CEPH_ARGS", "ceph", "--conf", m.Conf, "--connect-timeout", "10", "--format", "json"}, command...),
		Stdin: strings.NewReader(stdin),
	})
}

// Lines joins commands for the standard input of the client.
func Lines(commands []string) string { return strings.Join(commands, "\n") + "\n" }

// Order sends commands that have no answer through one process of the client.
func (m *Monitor) Order(ctx context.Context, commands ...string) error {
	r, err := m.Run(ctx, Lines(commands))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(r.Stdout) + "\n" + string(r.Stderr)) {
		if strings.HasPrefix(line, "Error") || strings.HasPrefix(line, "Invalid") {
			return errors.New(strings.TrimSpace(line))
		}
	}
	return ended(r)
}

// ended is the error of a client that ended with a status.
func ended(r platform.Result) error {
	if r.Exit == 0 {
		return nil
	}
	return fmt.Errorf("ceph ended with status %d: %s", r.Exit, strings.TrimSpace(string(r.Stderr)))
}

// Ask sends commands in the same way, and returns their answers.
func (m *Monitor) Ask(ctx context.Context, commands ...string) ([]json.RawMessage, error) {
	r, err := m.Run(ctx, Lines(commands))
	if err == nil {
		err = ended(r)
	}
	if err != nil {
		return nil, err
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

// Pools are the numbers of all pools, by name.
func (m *Monitor) Pools(ctx context.Context) (map[string]int, error) {
	answers, err := m.Ask(ctx, "osd lspools")
	if err != nil {
		return nil, err
	}
	var all []struct {
		ID   int    `json:"poolnum"`
		Name string `json:"poolname"`
	}
	if err := json.Unmarshal(answers[0], &all); err != nil {
		return nil, fmt.Errorf("parse the list of pools: %w", err)
	}
	of := map[string]int{}
	for _, one := range all {
		of[one.Name] = one.ID
	}
	return of, nil
}
