package ceph

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph/admin"
	"plimsoll/internal/service/ceph/counter"
	"plimsoll/internal/service/ceph/health"
)

// daemons are the daemons of a private cluster, which have admin sockets.
type daemons struct {
	places []place // the monitor is on the first
	osds   int
}

// place is a machine with daemons, and their folder on it.
type place struct {
	machine platform.Machine
	dir     string
}

// placesOf are the machines of a cluster.
func placesOf(env service.Env) []place {
	all := []place{{env.Machine, env.Dir}}
	for _, p := range env.Peers {
		all = append(all, place{p.Machine, p.Dir})
	}
	return all
}

// of is the place of an OSD: the first OSDs are on the first machine.
func (d *daemons) of(n int) place { return d.places[machineOf(n, d.osds, len(d.places))] }

// on are the OSDs at a place.
func (d *daemons) on(machine int) (all []int) {
	for n := range d.osds {
		if machineOf(n, d.osds, len(d.places)) == machine {
			all = append(all, n)
		}
	}
	return all
}

// machineOf is the number of the machine of an OSD.
func machineOf(n, osds, machines int) int { return n * machines / osds }

// cluster is a private cluster that runs.
type cluster struct {
	daemons daemons
	monitor admin.Monitor
	network network
	totals  counter.Totals
	space   shares
	worst   health.Worst
	health  health.Watch
	text    []byte // the configuration of the daemons
	// reachable reports that clients on other machines reach it.
	reachable bool

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
	at := d.places[0]
	if number, is := strings.CutPrefix(daemon, "osd."); is {
		n, err := strconv.Atoi(number)
		if err != nil {
			return fmt.Errorf("ask %s: %w", daemon, err)
		}
		at = d.of(n)
	}
	return admin.AskSocket(ctx, at.machine, socketOf(at.dir, daemon), command, answer)
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

// active fails until the OSDs of a machine run.
func (d *daemons) active(ctx context.Context, machine int) error {
	for _, n := range d.on(machine) {
		is, err := d.status(ctx, n)
		if err != nil {
			return err
		}
		if is.State != "active" {
			return fmt.Errorf("%s is %s", osd(n), is.State)
		}
	}
	return nil
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
		c.ids, err = c.monitor.Pools(ctx)
	}
	return c.ids[p.data()], err
}
