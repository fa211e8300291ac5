package ceph

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"plimsoll/internal/platform"
	"plimsoll/internal/service/ceph/health"
)

// daemons are the daemons of a private cluster, which have admin sockets.
type daemons struct {
	machine platform.Machine
	dir     string
	osds    int
}

// cluster is a private cluster that runs.
type cluster struct {
	daemons daemons
	monitor monitor
	network network
	totals  totals
	space   shares
	worst   health.Worst
	health  health.Watch
	text    []byte // the configuration of the daemons

	mu     sync.Mutex
	policy policy         // of the images
	ids    map[string]int // numbers of pools, by name
}

func osd(n int) string { return "osd." + strconv.Itoa(n) }

// ask sends a command to the admin socket of a daemon.
func (d *daemons) ask(ctx context.Context, daemon, command string, answer any) error {
	return d.command(ctx, daemon, map[string]any{"prefix": command}, answer)
}

// command does so with arguments.
func (d *daemons) command(ctx context.Context, daemon string, command map[string]any, answer any) error {
	command["format"] = "json"
	return ask(ctx, d.machine, socketOf(d.dir, daemon), command, answer)
}

// status is what an OSD says of itself.
type status struct {
	State  string `json:"state"`
	Groups int    `json:"num_pgs"`
	Map    int    `json:"newest_map"`
}

func (d *daemons) status(ctx context.Context, n int) (is status, err error) {
	err = d.ask(ctx, osd(n), "status", &is)
	return is, err
}

// option reads an option of the OSDs.
func (d *daemons) option(ctx context.Context, name string) (value string, err error) {
	for n := range d.osds {
		var all map[string]string
		if err = d.command(ctx, osd(n), map[string]any{"prefix": "config get", "var": name}, &all); err == nil {
			return all[name], nil
		}
	}
	return "", err
}

// ready fails until all OSDs run and all placement groups serve.
func (d *daemons) ready(ctx context.Context) error {
	for n := range d.osds {
		is, err := d.status(ctx, n)
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
	busy, err := d.degraded(ctx, d.all())
	if err == nil && busy != "" {
		err = errors.New(busy)
	}
	return err
}

// identify finds the number of the pool that holds the data of a policy; 0 if there is none.
func (c *cluster) identify(ctx context.Context, p policy) (id int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids[p.data()] == 0 {
		c.ids, err = c.monitor.numbers(ctx)
	}
	return c.ids[p.data()], err
}
