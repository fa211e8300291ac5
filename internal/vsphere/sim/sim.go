// Package sim is a vCenter simulator with plimsoll's engine: govmomi's simulator with an
// inventory of our own, and with our methods where the original lacks them, crashes, or is
// slow.
//
// The rooms below add methods. A room is a package with a function that returns a Room; New
// lists them. A Room wraps objects: its Wrap returns a shadow, a pointer to a struct that
// embeds the original object (see package shadow), and the exported methods of the struct
// serve the calls of the API. A call of Foo_Task is served by the method
//
//	func (x *X) FooTask(ctx *simulator.Context, r *types.Foo_Task) soap.HasFault
//
// which returns a *methods.Foo_TaskBody; a call of Foo is served by Foo. The simulator holds
// the lock of the object during a call, unless the shadow embeds shadow.Unlocked; then the
// method takes the locks of the objects that it accesses, by ctx.WithLock, one at a time or a
// VM before a host. A change is published by ctx.Update, under the object's lock, and then
// reaches all property collectors.
package sim

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/vpx"
	vapi "github.com/vmware/govmomi/vapi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	pbm "github.com/vmware/govmomi/pbm/simulator"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/policy"
	"plimsoll/internal/vsphere/sim/clock"
	"plimsoll/internal/vsphere/sim/collector"
	"plimsoll/internal/vsphere/sim/counter"
	"plimsoll/internal/vsphere/sim/drs"
	"plimsoll/internal/vsphere/sim/event"
	"plimsoll/internal/vsphere/sim/fault"
	"plimsoll/internal/vsphere/sim/folder"
	"plimsoll/internal/vsphere/sim/front"
	"plimsoll/internal/vsphere/sim/inventory"
	"plimsoll/internal/vsphere/sim/load"
	"plimsoll/internal/vsphere/sim/model"
	"plimsoll/internal/vsphere/sim/operation"
	"plimsoll/internal/vsphere/sim/original"
	"plimsoll/internal/vsphere/sim/release"
	"plimsoll/internal/vsphere/sim/replica"
	"plimsoll/internal/vsphere/sim/shadow"
	"plimsoll/internal/vsphere/sim/state"
	"plimsoll/internal/vsphere/sim/storage"
	"plimsoll/internal/vsphere/sim/task"
	"plimsoll/internal/vsphere/sim/vijson"
)

// Room is a part of the simulator.
type Room struct {
	Wrap  shadow.Wrap  // nil if it wraps nothing
	Check shadow.Check // nil if it checks nothing
	// Close ends the room's activities; nil if there are none. Afterwards no call may block.
	Close func()
}

// Options are the options of a simulator.
type Options struct {
	Clusters []*cluster.Cluster
	Listen   string // host:port; port 0 selects any
	Plain    bool   // HTTP instead of HTTPS
	// User and Password are required of clients; without a user any non-empty ones are
	// accepted.
	User, Password string
	Tasks          task.Options
	// Clock is the time of tasks, events and statistics; nil is real time.
	Clock *clock.Clock
	// Load is the demand of VMs over time. Other VMs have a steady demand.
	Load []load.Source
	// Rounds is the interval between periodic rounds of DRS; 0: none.
	Rounds time.Duration
	// Behavior is the automation level of DRS in the API's terms, or off; empty is manual, or
	// that of the state.
	Behavior string
	// Storage has policies with their rules, capabilities of datastores, and policies of VMs;
	// it may be nil.
	Storage *policy.Inventory
	// FullChecks makes each compliance check judge the whole inventory, for comparisons.
	FullChecks bool
	// Original omits all rooms: govmomi's simulator with the same inventory, for comparisons.
	Original bool
	State    *state.State  // instead of clusters; may be nil
	Idle     time.Duration // idle timeout of a session; 0 is vCenter's default
	Faults   *fault.Set    // may be nil
	// Folder is the folder for the files of VMs. It must exist; its content is removed when
	// the simulator is closed.
	Folder string
}

// Validate checks the options.
func (o *Options) Validate() error {
	if !slices.Contains([]string{"", "off", "manual", "partiallyAutomated", "fullyAutomated"}, o.Behavior) {
		return fmt.Errorf("DRS is %q: must be off, manual, partiallyAutomated or fullyAutomated", o.Behavior)
	}
	if o.Rounds < 0 || o.Rounds > 0 && o.Rounds < time.Second {
		return fmt.Errorf("the interval of DRS rounds is %v: must be 0, or at least 1s", o.Rounds)
	}
	return o.Tasks.Times.Validate()
}

// Unfit is returned for options that exclude each other.
type Unfit struct{ err error }

// Error is the reason.
func (u *Unfit) Error() string { return u.err.Error() }

// Server is a running simulator.
type Server struct {
	Model      *simulator.Model // for calls from outside, each with a copy of its service's context
	server     *simulator.Server
	rooms      []Room
	engine     *drs.Room
	tasks      *task.Runner
	events     *event.Log
	files      *folder.Folders // nil of the original
	gate       task.Gate       // admits calls and operations
	tags       any             // their handler
	operations *operation.Room
	front      *front.Front           // nil for the original
	manager    *storage.PolicyManager // nil for the original simulator
	folder     string
	print      Thumbprints
	time       passage
}

// Thumbprints are those of the server's certificate; empty for HTTP.
type Thumbprints struct{ SHA1, SHA256 string }

// Start builds the inventory and serves it.
func Start(ctx context.Context, o Options) (*Server, error) {
	o = escaped(o)
	folder, err := os.MkdirTemp(o.Folder, "vcenter-")
	if err != nil {
		return nil, fmt.Errorf("make the folder of the simulator's files: %w", err)
	}
	s := &Server{folder: folder, Model: &simulator.Model{ServiceContent: content(), RootFolder: vpx.RootFolder}}
	s.Model.ServiceContent.About.InstanceUuid = uuid.NewString() // different from any other vCenter
	if o.State != nil && o.State.Instance() != "" {
		s.Model.ServiceContent.About.InstanceUuid = o.State.Instance()
	}
	if err := original.Start(func() error { return s.start(ctx, o) }); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if err := s.Model.Create(); err != nil {
		return fmt.Errorf("create the simulator: %w", err)
	}
	options := s.Model.Map().OptionManager()
	options.Setting = replica.Of(options.Setting) // which simulators share
	if err := s.fill(ctx, o); err != nil {
		return err
	}
	behave(s.Model.Map(), o.Behavior)
	if !o.Original {
		if o.Faults == nil {
			o.Faults, _ = fault.New(0, nil)
		}
		if err := s.prepare(o); err != nil {
			return err
		}
		s.advise()
	}
	if err := s.serve(ctx, o); err != nil {
		return err
	}
	if !o.Original {
		o.Faults.Start(fault.Actions{Expire: s.front.Expire, Clock: o.Clock, Down: s.down, Host: s.hostFails})
	}
	return nil
}

// fill builds the inventory.
func (s *Server) fill(ctx context.Context, o Options) error {
	if o.State == nil {
		defer dateEvents(s.Model.Service, o.Clock)
		return inventory.Build(ctx, s.Model.Service, s.folder, o.Clusters)
	}
	if err := o.State.Load(state.Source{Service: s.Model.Service, Folder: s.folder}); err != nil {
		return &Unfit{fmt.Errorf("load the state: %w", err)}
	}
	return nil
}

// behave sets the automation level of DRS. The inventory is not published yet.
func behave(reg *simulator.Registry, as string) {
	for _, e := range reg.All("ClusterComputeResource") {
		c, ok := e.(*simulator.ClusterComputeResource)
		if !ok || as == "" {
			continue
		}
		if set, ok := c.ConfigurationEx.(*types.ClusterConfigInfoEx); ok {
			if set.DrsConfig.Enabled = types.NewBool(as != "off"); as != "off" {
				set.DrsConfig.DefaultVmBehavior = types.DrsBehavior(as)
			}
		}
	}
}

// content is the service content of the simulator.
func content() types.ServiceContent {
	c := vpx.ServiceContent
	c.About = release.About(c.About)
	return c
}

// prepare creates the parts of the simulator.
func (s *Server) prepare(o Options) error {
	reg := s.Model.Map()
	policies := storage.Options{Clusters: o.Clusters, Inventory: o.Storage, Full: o.FullChecks, Now: o.Clock.Now}
	if o.State != nil && len(o.State.Policies) > 0 {
		policies.Saved = o.State.Policies
	}
	manager, err := storage.New(reg, policies)
	if err != nil {
		return &Unfit{err}
	}
	o.Tasks.Trouble, o.Tasks.Clock, o.Tasks.Gate = o.Faults.Operation, o.Clock, &s.gate
	if o.State != nil {
		o.Tasks.Begun = o.State.Begun()
	}
	tasks := task.NewRunner(reg, o.Tasks)
	events, err := event.New(s.Model.Service.Context, o.Clock)
	if err != nil {
		return err
	}
	s.events = events
	s.files = folder.New()
	operations := operation.New(reg, tasks, events, s.files)
	if o.State != nil {
		kept, err := o.State.Unregistered(s.folder)
		if err != nil {
			return &Unfit{fmt.Errorf("load the state: %w", err)}
		}
		operation.Keep(operations, kept)
	}
	s.tasks, s.operations = tasks, operations
	known := model.New(reg)
	s.engine = drs.New(drs.Parts{Registry: reg, Tasks: tasks, Events: events, Model: known, VM: operations.Wrap})
	operations.Place(s.engine.Place, func(ctx *simulator.Context, f *simulator.Folder, r *types.PlaceVmsXCluster) soap.HasFault {
		return drs.Across(s.engine, ctx, f, r)
	})
	operations.Profile(manager.Profile)
	s.manager = manager
	loads := load.New(reg, o.Clock, known, o.Load)
	s.engine.Usage = loads.Usage
	s.pass(o, loads)
	s.front = front.New(s.Model.Service.Context, cmp.Or(o.Idle, front.Idle), o.Faults, &s.gate)
	s.rooms = []Room{
		{Wrap: collector.Wrap, Close: collector.Install(reg, vpx.ServiceContent.PropertyCollector)},
		{Wrap: events.Wrap, Check: s.files.Check},
		{Wrap: s.engine.Wrap, Close: s.engine.Close},
		{Wrap: operations.Wrap, Check: operation.Check, Close: tasks.Close},
		{Wrap: settings{tasks}.wrap},
		{Wrap: loads.Wrap},
		{Wrap: counter.New(reg, *vpx.ServiceContent.PerfManager, o.Clock, loads).Wrap, Close: loads.Close},
		{Wrap: timed(o.Clock)},
		{Check: s.front.Check, Close: s.front.Close},
		{Check: o.Faults.Check, Close: o.Faults.Close},
		{Check: manager.Check},
	}
	return nil
}

func (s *Server) advise() {
	var wraps []shadow.Wrap
	var checks []shadow.Check
	for _, r := range s.rooms {
		if r.Wrap != nil {
			wraps = append(wraps, r.Wrap)
		}
		if r.Check != nil {
			checks = append(checks, r.Check)
		}
	}
	shadows := shadow.NewHandler(wraps, checks)
	s.Model.Map().AddHandler(shadows)
	s.Model.Map().AddHandler(esxcli{})
	s.Model.Map().Handler = shadows.Before
}

func (s *Server) serve(ctx context.Context, o Options) error {
	service := s.Model.Service
	if err := free(o.Listen); err != nil {
		return err
	}
	service.Listen = &url.URL{Host: o.Listen}
	if o.User != "" {
		service.Listen.User = url.UserPassword(o.User, o.Password)
	}
	if !o.Plain {
		cert, print, err := certificate(o.Listen)
		if err != nil {
			return err
		}
		service.TLS, s.print = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}, print
	}
	s.server = service.NewServer()
	if s.front != nil {
		service.Handle(vijson.Path, vijson.Handler(s.front.Session(service.ServeMux)))
		s.server.Config.Handler = s.front.Handler(s.files.Files(s.server.Config.Handler))
		service.Handle("/plimsoll/faults", o.Faults.Control(o.User, o.Password))
	}
	patterns, tags := vapi.New(s.server.URL, s.Model.Map())
	s.tags = tags
	if o.State != nil {
		if err := o.State.Attach(tags); err != nil {
			return &Unfit{fmt.Errorf("load the tags of the state: %w", err)}
		}
	}
	if s.manager == nil {
		service.RegisterSDK(pbm.New())
	} else {
		service.RegisterSDK(s.manager.SDK(), "/pbm/sdk")
		watched, err := s.manager.Tagging(ctx, tags, s.server.URL)
		if err != nil {
			return err
		}
		tags = watched
	}
	for _, p := range patterns {
		service.Handle(p, tags)
	}
	return nil
}

// free reports whether an address is available: the simulator would panic.
func free(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	return l.Close()
}

// URL is the URL for clients, without user and password.
func (s *Server) URL() *url.URL {
	u := *s.server.URL
	u.User = nil
	return &u
}

// Thumbprints are those of the certificate.
func (s *Server) Thumbprints() Thumbprints { return s.print }

// Close stops serving and removes the files.
func (s *Server) Close() error {
	for _, r := range s.rooms {
		if r.Close != nil {
			r.Close()
		}
	}
	if s.server != nil {
		s.server.Close()
	}
	if s.Model.Service != nil {
		s.Model.Remove()
	}
	return os.RemoveAll(s.folder)
}
