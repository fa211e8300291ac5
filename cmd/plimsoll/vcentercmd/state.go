package vcentercmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/sim/state"
)

// loaded reads the state to serve.
func loaded(cmd *cobra.Command, o *choice) error {
	if beside := given(cmd, "hosts", "vms", "clusters", "snapshot", "storage", "policies"); beside != "" {
		return fmt.Errorf("--load has the inventory: remove %s", beside)
	}
	if !cmd.Flags().Changed("drs") {
		o.Behavior = "" // as it was saved
	}
	from, err := os.Open(o.load)
	if err != nil {
		return fmt.Errorf("load the state: %w", err)
	}
	defer from.Close()
	if o.State, err = state.Read(from); err != nil {
		return fmt.Errorf("load the state %s: %w", o.load, err)
	}
	return nil
}

// writable reports whether a state can be saved, before anything is served.
func writable(file string) error {
	if is, err := os.Stat(file); err == nil && is.IsDir() {
		return fmt.Errorf("--save: %s is a folder; give the name of a file", file)
	}
	probe, err := os.CreateTemp(filepath.Dir(file), ".plimsoll-*")
	if err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// save writes the state to a file that takes the place of the former one when it is complete.
func save(c *cli.Screen, s *sim.Server, file string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("save the state: %w", err)
		}
	}()
	to, err := os.CreateTemp(filepath.Dir(file), ".plimsoll-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(to.Name())
		}
	}()
	left, err := s.Save(to)
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	if len(left) > 0 {
		fmt.Fprintf(c.Err, "not saved, because they are larger than 16 MiB: %s\n", strings.Join(left, ", "))
	}
	return os.Rename(to.Name(), file)
}
