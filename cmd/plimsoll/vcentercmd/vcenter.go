// Package vcentercmd has the command that serves a simulated vCenter.
package vcentercmd

import (
	"bufio"
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
	"plimsoll/internal/cluster/policy"
	"plimsoll/internal/cluster/snapshot"
	"plimsoll/internal/live"
	"plimsoll/internal/quantity"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/sim/clock"
	"plimsoll/internal/vsphere/sim/fault"
	"plimsoll/internal/vsphere/sim/load"
	"plimsoll/internal/vsphere/sim/task"
)

// choice is what the command line asks for.
type choice struct {
	hosts, vms, clusters int
	seed                 uint64
	snapshot             string
	storage              string
	policies             int
	password             string // a reference
	asJSON               bool
	times                []string // OPERATION=DURATION
	spread, speed        float64
	faults               []string
	load, save           string // files
	saveEvery            time.Duration
	sim.Options
}

// Command is "plimsoll vcenter".
func Command(c *cli.Screen) *cobra.Command {
	var o choice
	cmd := &cobra.Command{
		Use:   "vcenter",
		Short: "serve a simulated vCenter",
		Long: `Serve a simulated vCenter until interrupted. Clients of vSphere, such as govc, connect to
the URL that is printed. The inventory is generated, or is that of a snapshot or of a saved
state. Files of VMs are in a temporary folder, which is removed at the end.

Without --user, any user and password are accepted.`,
		Example: "  plimsoll vcenter --hosts 64 --vms 8000\n  plimsoll vcenter --snapshot lab.yaml --user operator --password env:VCENTER_PASSWORD",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if beside := given(cmd, "hosts", "vms", "clusters"); o.load == "" && o.snapshot != "" && beside != "" {
				return cli.Mistake(fmt.Errorf("--snapshot has the hosts and VMs: remove %s", beside))
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
	f.IntVar(&o.policies, "policies", 0, "number of storage policies, which VMs have in turn")
	f.StringVar(&o.storage, "storage", "", "`file` with storage policies, as of plimsoll cluster comply")
	f.StringVar(&o.Listen, "listen", "127.0.0.1:8989", "`address` to listen on; port 0 is any")
	f.BoolVar(&o.Plain, "plain", false, "serve HTTP instead of HTTPS")
	f.StringVar(&o.User, "user", "", "`name` of the only user")
	f.StringVar(&o.password, "password", "", "`reference` to the password of the user: file:PATH or env:NAME")
	f.StringArrayVar(&o.times, "time", nil, "mean time of an operation, as `operation=duration`, such as powerOn=2s; may be repeated")
	f.Float64Var(&o.spread, "spread", 0, "standard deviation of times, in parts of the mean")
	f.Float64Var(&o.speed, "speed", 1, "speed of the simulated time, such as 60 for a minute in a second; 0: lines on standard input, such as 5m, move it on")
	f.DurationVar(&o.Rounds, "rounds", 5*time.Minute, "interval of periodic DRS rounds; 0 for none")
	f.StringVar(&o.Behavior, "drs", "", "what DRS does by itself: manual, partiallyAutomated, fullyAutomated or off (default manual, or as it was saved)")
	f.IntVar(&o.Tasks.PerHost, "in-flight", 0, "maximum number of operations in flight on a host; 0 is no limit")
	f.StringArrayVar(&o.faults, "fault", nil, "inject a fault, as `rule`, such as cloneVm=0.02:InsufficientResourcesFault; may be repeated")
	f.DurationVar(&o.Idle, "idle", 30*time.Minute, "end sessions that are idle for this long")
	f.StringVar(&o.load, "load", "", "`file` with the state to serve, which --save has written")
	f.StringVar(&o.save, "save", "", "`file` to write the state to when interrupted")
	f.DurationVar(&o.saveEvery, "save-every", 0, "write the state to the file of --save this often too; 0 for only when interrupted")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	return cmd
}

// given lists those of the flags that are on the command line.
func given(cmd *cobra.Command, names ...string) string {
	names = slices.DeleteFunc(names, func(name string) bool { return !cmd.Flags().Changed(name) })
	for i := range names {
		names[i] = "--" + names[i]
	}
	return strings.Join(names, ", ")
}

func serve(cmd *cobra.Command, c *cli.Screen, o choice) error {
	var err error
	if o.Password, err = (live.Address{Parameters: map[string]string{"password": o.password}}).Secret("password"); err != nil && o.password != "" {
		return cli.Mistake(err)
	}
	if (o.User == "") != (o.Password == "") {
		return cli.Mistake(errors.New("--user and --password are given together"))
	}
	if err := listenable(o.Listen); err != nil {
		return cli.Mistake(err)
	}
	if o.User == "" && !loopback(o.Listen) {
		return cli.Mistake(fmt.Errorf("--listen %s is not a loopback address: give --user and --password", o.Listen))
	}
	if o.Tasks.Times, err = times(o); err != nil {
		return cli.Mistake(err)
	}
	if err := o.Validate(); err != nil {
		return cli.Mistake(err)
	}
	if err := clock.Validate(o.speed); err != nil {
		return cli.Mistake(fmt.Errorf("--speed: %w", err))
	}
	if o.speed != 1 {
		o.Clock = clock.New(time.Now(), o.speed)
	}
	if o.Tasks.PerHost < 0 {
		return cli.Mistake(fmt.Errorf("--in-flight is %d: must be at least 0", o.Tasks.PerHost))
	}
	if err := contents(cmd, &o); err != nil {
		return cli.Mistake(err)
	}
	if o.Faults, err = faults(o); err != nil {
		return cli.Mistake(err)
	}
	if o.Storage, err = storage(o); err != nil {
		return cli.Mistake(err)
	}
	s, err := sim.Start(cmd.Context(), o.Options)
	if unfit := (*sim.Unfit)(nil); errors.As(err, &unfit) {
		return cli.Mistake(err)
	}
	if err != nil {
		return err
	}
	return errors.Join(served(cmd, c, s, o), s.Close())
}

// served lets clients use a simulator until the context ends.
func served(cmd *cobra.Command, c *cli.Screen, s *sim.Server, o choice) (err error) {
	sim.CollectLess()
	if err := announce(c, s, o); err != nil {
		return err
	}
	saved := saves(cmd.Context(), c, s, o)
	if o.speed == 0 {
		err = step(cmd, c, s)
	}
	<-cmd.Context().Done()
	saved()
	_, told := fmt.Fprint(c.Err, o.Faults)
	if o.save != "" {
		err = errors.Join(err, save(c, s.Save, o.save))
	}
	return errors.Join(err, told)
}

// contents are what the simulator begins with.
func contents(cmd *cobra.Command, o *choice) (err error) {
	switch {
	case o.saveEvery != 0 && o.save == "":
		return errors.New("--save-every needs --save, the file to write")
	case o.saveEvery < 0 || o.saveEvery > 0 && o.saveEvery < time.Second:
		return fmt.Errorf("--save-every is %v: must be 0, or at least 1s", o.saveEvery)
	}
	if o.save != "" {
		if err := writable(o.save); err != nil {
			return err
		}
	}
	if o.load != "" {
		return loaded(cmd, o)
	}
	if o.Load, err = clusters(*o); err != nil {
		return err
	}
	for _, s := range o.Load {
		o.Clusters = append(o.Clusters, s.Cluster)
	}
	return nil
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
		if o.State == nil && !slices.ContainsFunc(o.Clusters, func(c *cluster.Cluster) bool {
			return slices.ContainsFunc(c.Hosts, func(h cluster.Host) bool { return h.Name == name })
		}) {
			return nil, fmt.Errorf("--fault has host %q fail, and there is none", name)
		}
	}
	return set, nil
}

// step moves the time on by what lines of standard input say, and tells the time after each.
func step(cmd *cobra.Command, c *cli.Screen, s *sim.Server) error {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(cmd.InOrStdin()); in.Scan(); {
			select {
			case lines <- in.Text():
			case <-cmd.Context().Done():
				return
			}
		}
	}()
	for {
		select {
		case <-cmd.Context().Done():
			return nil
		case line, more := <-lines:
			if !more {
				return nil
			}
			d, err := time.ParseDuration(strings.TrimSpace(line))
			if err != nil || d <= 0 {
				fmt.Fprintf(c.Err, "standard input: %q is not a duration above 0, such as 5m\n", line)
				continue
			}
			s.Step(d)
			if _, err := fmt.Fprintln(c.Out, s.Now().UTC().Format(time.RFC3339)); err != nil {
				return err
			}
		}
	}
}

// listenable says what is wrong with an address.
func listenable(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("--listen is %q: must be an address such as 127.0.0.1:8989", address)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("--listen %s: the port must be from 0 to 65535", address)
	}
	return nil
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
	return t, nil
}

// storage reads or makes storage policies.
func storage(o choice) (*policy.Inventory, error) {
	name := o.storage
	switch {
	case o.policies < 0 || o.policies > 1000:
		return nil, fmt.Errorf("--policies is %d: must be from 0 to 1000", o.policies)
	case o.policies > 0 && (name != "" || len(o.Clusters) != 1):
		return nil, errors.New("--policies makes storage policies for one cluster: remove --storage and --clusters")
	case name == "":
		if o.policies == 0 {
			return nil, nil
		}
		return generate.Storage(o.Clusters[0], o.policies), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the storage policies: %w", err)
	}
	defer f.Close()
	inventory, err := policy.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return inventory, nil
}

// clusters are those to serve, with the demand of their VMs over time.
func clusters(o choice) ([]load.Source, error) {
	if o.snapshot != "" {
		text, err := os.ReadFile(o.snapshot)
		if err != nil {
			return nil, fmt.Errorf("read the snapshot: %w", err)
		}
		c, events, err := snapshot.ReadBoth(o.snapshot, text)
		if err != nil {
			return nil, err
		}
		if err := nameable(c); err != nil {
			return nil, fmt.Errorf("%s: %w", o.snapshot, err)
		}
		is := load.Source{Cluster: c}
		if events != nil {
			is.Course = load.Replayed(events)
		}
		return []load.Source{is}, nil
	}
	if o.hosts < 1 {
		return nil, fmt.Errorf("--hosts is %d: must be at least 1", o.hosts)
	}
	if o.clusters < 1 || o.clusters > o.hosts {
		return nil, fmt.Errorf("--clusters is %d: must be from 1 to the number of hosts, %d", o.clusters, o.hosts)
	}
	var list []load.Source
	for i := range o.clusters {
		s := generate.Typical(part(o.hosts, o.clusters, i), o.seed+uint64(i))
		s.Hosts, s.VMs, s.Mixed, s.Name = part(o.hosts, o.clusters, i), part(o.vms, o.clusters, i), true, fmt.Sprintf("C%d", i)
		if err := s.Validate(); err != nil {
			return nil, err
		}
		made, course := generate.WithCourse(s)
		if o.clusters > 1 {
			rename(made)
		}
		list = append(list, load.Source{Cluster: made, Course: load.Generated(course)})
	}
	return list, nil
}

// nameable refuses names of datastores that paths of files, such as "[ssd] db-1/db-1.vmx", cannot have.
func nameable(c *cluster.Cluster) error {
	for _, name := range c.Datastores {
		if strings.ContainsAny(name, "[]") {
			return fmt.Errorf("the name of the datastore %q has a bracket, which paths of files in vSphere cannot have", name)
		}
	}
	return nil
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
	r.Hosts, r.VMs = s.Count()
	if o.asJSON {
		return json.NewEncoder(c.Out).Encode(r)
	}
	text := fmt.Sprintf("url: %s\n", r.URL)
	if r.SHA256 != "" {
		text += fmt.Sprintf("thumbprint (SHA-256): %s\nthumbprint (SHA-1): %s\n", r.SHA256, r.SHA1)
	}
	_, err := fmt.Fprintf(c.Out, "%sready: %d %s, %d %s\n", text, r.Hosts, quantity.Plural(r.Hosts, "host"), r.VMs, quantity.Plural(r.VMs, "VM"))
	return err
}
