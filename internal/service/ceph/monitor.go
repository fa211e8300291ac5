package ceph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"plimsoll/internal/platform"
)

// monitor is the monitor of a cluster, by its client ceph.
type monitor struct {
	machine platform.Machine
	conf    string // the configuration of the client
}

func (m *monitor) run(ctx context.Context, stdin string, command ...string) (platform.Result, error) {
	return m.machine.Run(ctx, platform.Command{
		Argv:  append([]string{"env", "-u", "CEPH_ARGS", "ceph", "--conf", m.conf, "--connect-timeout", "10", "--format", "json"}, command...),
		Stdin: strings.NewReader(stdin),
	})
}

// lines joins commands for the standard input of the client.
func lines(commands []string) string { return strings.Join(commands, "\n") + "\n" }

// order sends commands that have no answer through one process of the client.
func (m *monitor) order(ctx context.Context, commands ...string) error {
	r, err := m.run(ctx, lines(commands))
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

// ask sends commands in the same way, and returns their answers.
func (m *monitor) ask(ctx context.Context, commands ...string) ([]json.RawMessage, error) {
	r, err := m.run(ctx, lines(commands))
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

// numbers are the numbers of all pools, by name.
func (m *monitor) numbers(ctx context.Context) (map[string]int, error) {
	answers, err := m.ask(ctx, "osd lspools")
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
