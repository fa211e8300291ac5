// Package vcentercmd has the command that serves a simulated vCenter.
package vcentercmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"plimsoll/cmd/plimsoll/cli"

	"github.com/spf13/cobra"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/generate"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/sim/clock"
	"plimsoll/internal/vsphere/sim/fault"
	"plimsoll/internal/vsphere/sim/task"
)

// choice is what the command line asks for.
type choice struct {
	hosts, vms, clusters int
	seed                 uint64
	snapshot             string
	password             string // a reference
	asJSON               bool
	times                []string // OPERATION=DURATION
	spread, speed        float64
	faults               []string
	sim.Options
}

// Command is "plimsoll vcenter".
func Command(c *cli.Screen) *cobra.Command {
	var o choice
	cmd := &cobra.Command{
		Use:   "vcenter",
		Short: "serve a simulated vCenter",
		Long: `Serve a simulated vCenter until interrupted. Clients of vSphere, such as govc, connect to
the URL that is printed. The inventory is generated, or is that of a snapshot. Files of
VMs are in a temporary folder, which is removed at the end.

Without --user, any user and password are accepted.`,
		Example: "  plimsoll vcenter --hosts 64 --vms 8000\n  plimsoll vcenter --snapshot lab.yaml --user operator --password env:VCENTER_PASSWORD",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.snapshot != "" && (cmd.Flags().Changed("hosts") || cmd.Flags().Changed("vms") || cmd.Flags().Changed("clusters") || cmd.Flags().Changed("seed")) {
				return cli.Mistake(errors.New("--snapshot has the hosts and VMs: remove --hosts, --vms, --clusters and --seed"))
			}
			return serve(cmd, c, o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.hosts, "hosts", 64, "number of hosts")
	f.IntVar(&o.vms, "vms", 1000, "number of VMs")
	f.IntVar(&o.clusters, "clusters", 1, "number of clusters, which the hosts and VMs are divided among")
	f.Uint64Var(&o.seed, "seed", 1, "random seed")
	f.StringVar(&o.snapshot, "snapshot", "", "`file` with the cluster to serve")
	f.StringVar(&o.Listen, "listen", "127.0.0.1:8989", "`address` to listen on; port 0 is any")
	f.BoolVar(&o.Plain, "plain", false, "serve HTTP instead of HTTPS")
	f.StringVar(&o.User, "user", "", "`name` of the only user")
	f.StringVar(&o.password, "password", "", "`reference` to the password of the user: file:PATH or env:NAME")
	f.StringArrayVar(&o.times, "time", nil, "mean time of an operation, as `operation=duration`, such as powerOn=2s; may be repeated")
	f.Float64Var(&o.spread, "spread", 0, "standard deviation of times, in parts of the mean")
	f.Float64Var(&o.speed, "speed", 1, "speed of the simulated time, such as 60 for a minute in a second")
	f.IntVar(&o.Tasks.PerHost, "in-flight", 0, "maximum number of operations in flight on a host; 0 is no limit")
	f.StringArrayVar(&o.faults, "fault", nil, "inject a fault, as `rule`, such as cloneVm=0.02:InsufficientResourcesFault; may be repeated")
	f.DurationVar(&o.Idle, "idle", 30*time.Minute, "end sessions that are idle for this long")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	return cmd
}

func serve(cmd *cobra.Command, c *cli.Screen, o choice) error {
	var err error
	if o.Password, err = (live.Address{Parameters: map[string]string{"password": o.password}}).Secret("password"); err != nil && o.password != "" {
		return cli.Mistake(err)
	}
	if (o.User == "") != (o.Password == "") {
		return cli.Mistake(errors.New("--user and --password are given together"))
	}
	if o.User == "" && !loopback(o.Listen) {
		return cli.Mistake(fmt.Errorf("--listen %s is not a loopback address: give --user and --password", o.Listen))
	}
	if o.Tasks.Times, err = times(o); err != nil {
		return cli.Mistake(err)
	}
	if err := clock.Validate(o.speed); err != nil {
		return cli.Mistake(fmt.Errorf("--speed: %w", err))
	}
	if o.speed != 1 {
		o.Clock = clock.New(time.Now(), o.speed)
	}
	if o.Tasks.PerHost < 0 {
		return cli.Mistake(fmt.Errorf("--in-flight must be at least 0 and is %d", o.Tasks.PerHost))
	}
	if o.Clusters, err = clusters(o); err != nil {
		return cli.Mistake(err)
	}
	if o.Faults, err = faults(o); err != nil {
		return cli.Mistake(err)
	}
	s, err := sim.Start(cmd.Context(), o.Options)
	if err != nil {
		return err
	}
	if err := announce(c, s, o); err != nil {
		return errors.Join(err, s.Close())
	}
	<-cmd.Context().Done()
	_, err = fmt.Fprint(c.Err, o.Faults)
	return errors.Join(err, s.Close())
}

// faults are those to inject.
func faults(o choice) (*fault.Set, error) {
	if o.Idle <= 0 {
		return nil, fmt.Errorf("--idle must be above 0 and is %v", o.Idle)
	}
	set, err := fault.New(o.seed, o.faults)
	if err != nil {
		return nil, err
	}
	for _, name := range set.Hosts() {
		if !slices.ContainsFunc(o.Clusters, func(c *cluster.Cluster) bool {
			return slices.ContainsFunc(c.Hosts, func(h cluster.Host) bool { return h.Name == name })
		}) {
			return nil, fmt.Errorf("--fault has host %q fail, and there is none", name)
		}
	}
	return set, nil
}

// loopback says whether an address is reached from this machine alone.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// times are those of operations.
func times(o choice) (task.Times, error) {
	t := task.Times{Seed: o.seed, Spread: o.spread, Mean: map[string]time.Duration{}}
	for _, text := range o.times {
		name, duration, ok := strings.Cut(text, "=")
		if !ok {
			return t, fmt.Errorf("--time is OPERATION=DURATION, such as powerOn=2s, and not %q", text)
		}
		mean, err := time.ParseDuration(duration)
		if err != nil {
			return t, fmt.Errorf("--time %s: %w", name, err)
		}
		t.Mean[name] = mean
	}
	return t, t.Validate()
}

// clusters are those to serve.
func clusters(o choice) ([]*cluster.Cluster, error) {
	if o.snapshot != "" {
		text, err := os.ReadFile(o.snapshot)
		if err != nil {
			return nil, fmt.Errorf("read the snapshot: %w", err)
		}
		c, err := snapshot.Read(o.snapshot, text)
		return []*cluster.Cluster{c}, err
	}
	if o.clusters < 1 || o.clusters > o.hosts {
		return nil, fmt.Errorf("--clusters must be from 1 to the number of hosts, %d, and is %d", o.hosts, o.clusters)
	}
	var list []*cluster.Cluster
	for i := range o.clusters {
		s := generate.Typical(part(o.hosts, o.clusters, i), o.seed+uint64(i))
		s.Hosts, s.VMs, s.Mixed, s.Name = part(o.hosts, o.clusters, i), part(o.vms, o.clusters, i), true, fmt.Sprintf("C%d", i)
		if err := s.Validate(); err != nil {
			return nil, err
		}
		made, _ := generate.Cluster(s)
		if o.clusters > 1 {
			rename(made)
		}
		list = append(list, made)
	}
	return list, nil
}

// part is the share of one of several.
func part(all, among, i int) int { return all*(i+1)/among - all*i/among }

// rename makes the names of a cluster's hosts and VMs unique among clusters.
func rename(c *cluster.Cluster) {
	for i := range c.Hosts {
		c.Hosts[i].Name = c.Name + "-" + c.Hosts[i].Name
	}
	for i := range c.VMs {
		c.VMs[i].Name = c.Name + "-" + c.VMs[i].Name
	}
}

// ready is what a client needs to connect.
type ready struct {
	URL    string `json:"url"`
	SHA256 string `json:"thumbprint_sha256,omitempty"`
	SHA1   string `json:"thumbprint_sha1,omitempty"`
	Hosts  int    `json:"hosts"`
	VMs    int    `json:"vms"`
}

func announce(c *cli.Screen, s *sim.Server, o choice) error {
	r := ready{URL: s.URL().String(), SHA256: s.Thumbprints().SHA256, SHA1: s.Thumbprints().SHA1}
	for _, c := range o.Clusters {
		r.Hosts, r.VMs = r.Hosts+len(c.Hosts), r.VMs+len(c.VMs)
	}
	if o.asJSON {
		return json.NewEncoder(c.Out).Encode(r)
	}
	text := fmt.Sprintf("url: %s\n", r.URL)
	if r.SHA256 != "" {
		text += fmt.Sprintf("thumbprint (SHA-256): %s\nthumbprint (SHA-1): %s\n", r.SHA256, r.SHA1)
	}
	_, err := fmt.Fprintf(c.Out, "%sready: %d hosts, %d VMs\n", text, r.Hosts, r.VMs)
	return err
}
