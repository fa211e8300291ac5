// Package serve starts and stops the service of a study, and reads its settings, counters
// and log.
package serve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/trial/requirement"
	"plimsoll/internal/workload"
)

// Services starts and stops the service of a study.
type Services struct {
	Study     *study.Study
	Plan      *plan.Plan
	Machines  *machines.Inventory
	Journal   *journal.Journal
	Log       func(format string, args ...any)
	Simulated bool                 // nothing is started in virtual time
	Current   *Running             // nil while no service runs
	standing  *service.Running     // that of the arm that was checked last; nil where plimsoll starts it
	Lodged    []machines.Workspace // where a service ran last
	failed    int                  // times in a row that it could not be started
	Hosting   *Hosting             // nil: no disk of a machine is in the service
	troubled  int                  // times in a row that it was in trouble
	Known     *requirement.Known
}

// Folder is the folder of services in the scratch folder. Nothing else is written there.
const Folder = "service"

// Running is the service of a study while it runs.
type Running struct {
	Kind     service.Kind
	Instance service.Instance
	settings parameter.Settings
	at       []machines.Workspace
	before   map[string]float64 // its counters when the load began
	mute     bool               // it did not do what was asked of it, or did not answer
	log      []byte             // the end of its log, where that tells events
}

// lives reports whether the service is not known to have died, of itself or with its machine.
func (v *Running) lives() bool {
	m, ok := v.Instance.(service.FailureReporter)
	return !ok || m.Died() == nil
}

// Dead reports whether the service died.
func (s *Services) Dead() bool { return s.Current != nil && !s.Current.lives() }

// Disturbed is the service as one to which something happens in the middle of each load; nil for none.
func (s *Services) Disturbed() platform.Disturbed {
	if s.Current == nil {
		return nil
	}
	d, _ := s.Current.Instance.(platform.Disturbed)
	return d
}

// answers reports whether the service is alive and answered the last request.
func (v *Running) answers() bool { return v.lives() && !v.mute }

// Kind finds the kind of the study's service; ok is false without one.
func (s *Services) Kind() (kind service.Kind, ok bool, err error) {
	if s.Study.Service == nil || s.Simulated {
		return kind, false, nil
	}
	found := s.Machines.Catalog.Service(s.Study.Service.Kind)
	if found == nil {
		return kind, false, fmt.Errorf("service %s: not in this version of plimsoll", s.Study.Service.Kind)
	}
	return *found, true, nil
}

// Spoken are the protocols of the study's service; none where it has the disks of the machines, whose loads do not talk to it.
func (s *Services) Spoken() []string {
	if s.Study.Hosted {
		return nil
	}
	kind, _, _ := s.Kind() // an error was found by then
	return kind.Speaks
}

// Check reports whether the service of an arm can be started, and returns its needs.
func (s *Services) Check(ctx context.Context, arm plan.Arm, all machines.Set) (needs service.Needs, err error) {
	kind, ok, err := s.Kind()
	if err != nil || !ok {
		return needs, err
	}
	_, apart := s.Machines.Platform.(platform.ScratchProvider)
	servers := serversOf(all, kind)
	for _, server := range servers {
		if _, dials := server.At.Machine.(platform.Dialer); apart && !dials {
			return needs, fmt.Errorf("workload %s needs service %s, which plimsoll cannot reach through a machine of platform %s; storage and null need none", s.Study.Workload.Kind, kind.Name, s.Study.Platform.Kind)
		}
	}
	built, err := kind.New(s.Study.ServiceSettings(arm.Levels))
	if err != nil {
		return needs, fmt.Errorf("arm %s: %w", arm.Label, err)
	}
	env := Env(servers[0].At, kind)
	for _, other := range servers[1:] {
		at := Env(other.At, kind)
		env.Peers = append(env.Peers, service.Peer{Machine: at.Machine, Dir: at.Dir})
	}
	if needs, err = s.Known.Service(ctx, built, env, servers, s.Study.ServiceSettings(arm.Levels)); err != nil {
		return needs, fmt.Errorf("arm %s: service %s: %w", arm.Label, kind.Name, err)
	}
	s.standing = nil
	if is, may := built.(service.External); may {
		if at := is.Endpoints(); at != nil {
			s.standing = service.Use(service.Live{Endpoints: at})
		}
	}
	return needs, nil
}

// serversOf are the machines that a service runs on: one of the subject, where no group has it.
func serversOf(all machines.Set, kind service.Kind) machines.Set {
	servers := all.Servers()
	if !kind.Spreads || !servers[0].Group.Serves {
		return servers[:1]
	}
	return servers
}

// Provided finds where the service of the arm that was checked last listens; nil where plimsoll starts it.
func (s *Services) Provided() func(protocol string) (load.Endpoint, error) {
	if s.standing == nil || s.Study.Hosted {
		return nil
	}
	return s.standing.Endpoint
}

// Env is the environment of a service on a machine.
func Env(p machines.Workspace, kind service.Kind) service.Env {
	return service.Env{
		Machine: p.Machine, Dir: path.Join(p.Dir, Folder, kind.Name),
		Log: func(string, ...any) {},
	}
}

// Start has the service of an arm running. Where the study varies settings that a running service
// does not take on, each trial gets a fresh one, so that none is older than another; so does a
// service that differs between blocks, by their seed.
func (s *Services) Start(ctx context.Context, arm plan.Arm, all machines.Set, block uint64) error {
	kind, ok, err := s.Kind()
	if err != nil || !ok {
		return err
	}
	settings := s.Study.ServiceSettings(arm.Levels)
	built, err := kind.New(settings)
	if err != nil {
		return fmt.Errorf("service %s in arm %s: %w", kind.Name, arm.Label, err)
	}
	varies, is := built.(service.Varying)
	if s.Current != nil && !s.Renews() && !(is && varies.Varies()) && s.Current.answers() {
		return s.adapt(ctx, settings)
	}
	if err := s.Stop(ctx); err != nil {
		return err
	}
	servers := serversOf(all, kind)
	for _, server := range servers {
		if slices.Contains(s.Journal.Undo.Servers, server.Name) {
			continue
		}
		if err := s.Journal.Append(journal.Entry{Kind: journal.KindServe, Server: server.Name}); err != nil {
			return err
		}
	}
	if err := s.Machines.MakeScratch(ctx, all); err != nil {
		return err
	}
	env, err := envOf(ctx, servers, kind, len(all) > 1)
	if err != nil {
		return err
	}
	env.Seed, env.Block, env.Log = s.Plan.Seed, block, s.Log
	instance, err := built.Start(ctx, env)
	if err != nil {
		return s.unstarted(kind.Name, err)
	}
	s.failed = 0
	s.Current = &Running{Kind: kind, Instance: instance, settings: settings}
	for _, server := range servers {
		s.Current.at = append(s.Current.at, server.At)
	}
	return nil
}

// envOf is the environment of a service on its machines. Where the study has several machines it listens at their addresses.
func envOf(ctx context.Context, servers machines.Set, kind service.Kind, several bool) (env service.Env, err error) {
	for i, server := range servers {
		at, host := Env(server.At, kind), ""
		if c, ok := at.Machine.(platform.Connected); ok && several {
			if host, err = c.Address(ctx); err != nil {
				return env, fmt.Errorf("start service %s on machine %s: %w", kind.Name, at.Machine.Name(), err)
			}
		}
		if i == 0 {
			env = at
			env.Host = host
			continue
		}
		env.Peers = append(env.Peers, service.Peer{Machine: at.Machine, Dir: at.Dir, Host: host})
	}
	return env, nil
}

// adapt has the running service take on the settings of an arm.
func (s *Services) adapt(ctx context.Context, settings parameter.Settings) error {
	if maps.Equal(settings, s.Current.settings) {
		return nil
	}
	name := s.Current.Kind.Name
	as, ok := s.Current.Instance.(service.Adapter)
	if !ok {
		return fmt.Errorf("service %s does not take on settings while it runs", name)
	}
	if err := as.Adapt(ctx, settings); err != nil {
		s.Current.mute = true // the next trial gets a fresh one
		return s.unstarted(name, err)
	}
	s.failed, s.Current.settings = 0, settings
	return nil
}

// unstarted reports a service that could not be started, or could not take on the settings of an arm: the trial is
// void. The second time in a row the study ends.
func (s *Services) unstarted(name string, err error) error {
	if s.failed++; s.failed < 2 {
		return fault.Void("start service %s: %w", name, err)
	}
	return fmt.Errorf("service %s could not be started twice in a row: %s", name, strings.Join(strings.Split(err.Error(), "\n"), " | "))
}

// Renews reports whether each trial gets a fresh service: the study varies settings that a running one does not take
// on, or restarts its machine.
func (s *Services) Renews() bool {
	restarts := func(f study.Factor) bool { return f.Restart && !s.Study.Hosted && len(f.Levels) > 1 }
	return s.Anew() || slices.ContainsFunc(s.Study.Factors, restarts)
}

// Anew reports whether each trial prepares its load: the study varies settings that a running service does not take on.
func (s *Services) Anew() bool {
	kind, _, _ := s.Kind() // an error was found by then
	return slices.ContainsFunc(s.Study.Factors, func(f study.Factor) bool {
		return f.OfService && len(f.Levels) > 1 && !slices.Contains(kind.Adapts, f.Parameter)
	})
}

// Stop stops the service, if one runs.
func (s *Services) Stop(ctx context.Context) error {
	if s.Current == nil {
		return nil
	}
	err := errors.Join(s.Hosting.detach(ctx, s.Dead()), s.Current.Instance.Stop(ctx))
	name := s.Current.Kind.Name
	s.Lodged, s.Current = s.Current.at, nil
	if err != nil {
		return fmt.Errorf("stop service %s: %w", name, err)
	}
	return nil
}

// StopMute stops a service that does not answer, as may be why a session ended in
// trouble: the data of loads goes with it, and cannot be removed in any other way.
func (s *Services) StopMute(ctx context.Context, trouble error) error {
	if s.Current == nil {
		return nil
	}
	if trouble != nil && s.Current.answers() {
		if _, err := s.Current.Instance.Counters(ctx); err != nil {
			s.Current.mute = true
		}
	}
	if s.Current.answers() {
		return nil
	}
	return s.Stop(ctx)
}

// Target finds where the service listens.
func (s *Services) Target(protocol string) (load.Endpoint, error) {
	if s.Current == nil || s.Study.Hosted {
		return load.Endpoint{}, errors.New("no service runs for loads")
	}
	return s.Current.Instance.Endpoint(protocol)
}

// Sweep removes the files of services that died with their run.
func Sweep(ctx context.Context, p machines.Workspace, of *machines.Inventory) error {
	if err := p.Marked(ctx, of.Mark); err != nil {
		return err
	}
	folder := path.Join(p.Dir, Folder)
	listed, err := p.Command(ctx, "ls", "--", folder)
	if err != nil {
		return fmt.Errorf("list the files of services in %s: %w", p.Dir, err)
	}
	for name := range strings.FieldsSeq(string(listed.Stdout)) {
		left := path.Join(folder, name)
		var own service.Releaser
		if kind := of.Catalog.Service(name); kind != nil {
			own = kind.Release
		}
		if err := errors.Join(service.Unwire(ctx, p.Machine, left), service.Release(ctx, p.Machine, left, own)); err != nil {
			return err
		}
	}
	removed, err := p.Command(ctx, "rm", "-rf", "--", folder)
	if err == nil && removed.Exit != 0 {
		err = errors.New(machines.LastLine(removed.Stderr))
	}
	if err != nil {
		return fmt.Errorf("remove the files of services in %s: %w", p.Dir, err)
	}
	return nil
}

// Died returns the death of the service, if that is why a trial failed.
func (s *Services) Died(trouble error) error {
	if !s.Dead() {
		return trouble
	}
	how := s.Current.Instance.(service.FailureReporter).Died()
	var death *service.DeathError
	if errors.As(how, &death) { // its log is in the warnings
		how = errors.New(strings.Replace(how.Error(), death.Error(), death.How(), 1))
	}
	return fmt.Errorf("service %s: %w: %w", s.Current.Kind.Name, how, trouble)
}

// AddressSetting is the setting by which a study uses a service that runs already.
const AddressSetting = "address"

// Foreign lists the services that the study uses and does not start. The data of a load
// in them outlives the run; that in a private service goes with it.
func (s *Services) Foreign() []study.Use {
	if s.Study.Service == nil {
		return nil
	}
	var all []study.Use
	for _, arm := range s.Plan.Arms {
		settings := s.Study.ServiceSettings(arm.Levels)
		same := func(u study.Use) bool { return maps.Equal(u.Settings, settings) }
		if settings[AddressSetting] != "" && !slices.ContainsFunc(all, same) {
			all = append(all, study.Use{Kind: s.Study.Service.Kind, Settings: settings})
		}
	}
	return all
}

// Lent is the needs of a load that uses services which run already: its data in them is on
// their disks and not on this one, and changes them.
func (s *Services) Lent(needs workload.Needs) workload.Needs {
	for _, use := range s.Foreign() {
		if needs.Served > 0 {
			needs.Changes = append(slices.Clip(needs.Changes), fmt.Sprintf("writes about %s to %s at %s, and removes it", parameter.Bytes(needs.Served).About(), use.Kind, use.Settings[AddressSetting]))
		}
	}
	if len(s.Foreign()) > 0 {
		needs.Served = 0
	}
	return needs
}
