package vcentercmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

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
	dir := filepath.Dir(file)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--save %s: there is no folder %s", file, dir)
	}
	probe, err := os.CreateTemp(dir, ".plimsoll-*")
	if err != nil {
		return fmt.Errorf("--save %s: the folder %s cannot be written to: %w", file, dir, errors.Unwrap(err))
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// save writes the state to a file that takes the place of the former one when it is complete.
func save(c *cli.Screen, write func(io.Writer) ([]string, error), file string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("save the state to %s: %w", file, err)
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
	left, err := write(to)
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	if len(left) > 0 {
		fmt.Fprintf(c.Err, "not saved, because they are larger than 16 MiB: %s\n", strings.Join(left, ", "))
	}
	if err := os.Rename(to.Name(), file); err != nil {
		return err
	}
	return synced(filepath.Dir(file))
}

// synced has the names in a folder survive a crash of the host.
func synced(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// saves writes the state from time to time until the context ends. The function waits for the last.
func saves(ctx context.Context, c *cli.Screen, s *sim.Server, o choice) (wait func()) {
	var saving sync.WaitGroup
	if o.saveEvery == 0 {
		return saving.Wait
	}
	saving.Go(func() {
		due := time.NewTicker(o.saveEvery)
		defer due.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-due.C:
				if err := save(c, s.Checkpoint, o.save); err != nil {
					fmt.Fprintf(c.Err, "%v; the next attempt is in %v\n", err, o.saveEvery)
				}
			}
		}
	})
	return saving.Wait
}
