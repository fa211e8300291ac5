package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/agent"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/plan"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/fault"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
)

// serviceFolder is where services lie in the scratch folder. Nobody else writes
// there.
const serviceFolder = "service"

// served is the service of a study while it runs.
type served struct {
	kind     service.Kind
	settings parameter.Settings
	instance service.Instance
	at       machines.Workspace
	before   map[string]float64 // its counters when the load began
	mute     bool               // it did not answer when it was asked for them
}

// lives says that nothing is known of its end: it may have died of itself or with its machine.
func (v *served) lives() bool {
	m, ok := v.instance.(service.Mortal)
	return !ok || m.Died() == nil
}

// answers says that nothing is known but that it can serve: one that runs may stand still.
func (v *served) answers() bool { return v.lives() && !v.mute }

// serviceKind finds the kind of the study's service; ok is false without one.
func (s *session) serviceKind() (kind service.Kind, ok bool, err error) {
	if s.Study.Service == nil || s.sim != nil {
		return kind, false, nil
	}
	i := slices.IndexFunc(s.Catalog.Services, func(k service.Kind) bool { return k.Name == s.Study.Service.Kind })
	if i < 0 {
		return kind, false, fmt.Errorf("service %s: this plimsoll does not have it", s.Study.Service.Kind)
	}
	return s.Catalog.Services[i], true, nil
}

// spoken are the protocols of the study's service.
func (s *session) spoken() []string {
	kind, _, _ := s.serviceKind() // an error was found by then
	return kind.Speaks
}

// checkService asks whether the service of an arm can be started, and is what it needs.
func (s *session) checkService(ctx context.Context, arm plan.Arm, all machines.Set, total *Needs) (needs service.Needs, err error) {
	kind, ok, err := s.serviceKind()
	if err != nil || !ok {
		return needs, err
	}
	_, apart := s.Platform.(platform.Lodging)
	server := all.Server()
	if _, dials := server.At.Machine.(platform.Dialer); apart && !dials {
		return needs, fmt.Errorf("workload %s needs service %s, to which plimsoll cannot talk through a machine of platform %s; storage and null need none", s.kind.Name, kind.Name, s.Study.Platform.Kind)
	}
	built, err := kind.New(s.Study.ServiceSettings(arm.Levels))
	if err != nil {
		return needs, fmt.Errorf("arm %s: %w", arm.Label, err)
	}
	if needs, err = built.Check(ctx, serviceEnv(server.At, kind)); err != nil {
		return needs, fmt.Errorf("arm %s: service %s: %w", arm.Label, kind.Name, err)
	}
	total.Time += needs.Time
	for _, change := range needs.Changes {
		if !slices.Contains(total.Changes, change) {
			total.Changes = append(total.Changes, change)
		}
	}
	maps.Copy(total.Versions, needs.Versions)
	return needs, nil
}

func serviceEnv(p machines.Workspace, kind service.Kind) service.Env {
	return service.Env{
		Machine: p.Machine, Dir: path.Join(p.Dir, serviceFolder, kind.Name),
		Log: func(string, ...any) {},
	}
}

// serve has the service of an arm running. Where the study varies the service each
// trial gets a fresh one, so that none is older than another.
func (s *session) serve(ctx context.Context, arm plan.Arm, all machines.Set) error {
	kind, ok, err := s.serviceKind()
	if err != nil || !ok {
		return err
	}
	if s.served != nil && !s.renews() && s.served.answers() {
		return nil
	}
	if err := s.unserve(ctx); err != nil {
		return err
	}
	settings := s.Study.ServiceSettings(arm.Levels)
	built, err := kind.New(settings)
	if err != nil {
		return fmt.Errorf("service %s in arm %s: %w", kind.Name, arm.Label, err)
	}
	server := all.Server()
	if !slices.Contains(s.journal.Undo.Servers, server.Name) {
		if err := s.journal.Append(journal.Entry{Kind: journal.KindServe, Server: server.Name}); err != nil {
			return err
		}
	}
	if err := s.machines.MakeScratch(ctx, all); err != nil {
		return err
	}
	env := serviceEnv(server.At, kind)
	env.Seed, env.Log = s.Plan.Seed, s.log
	if c, ok := server.At.Machine.(platform.Connected); ok && len(all) > 1 {
		if env.Host, err = c.Address(ctx); err != nil {
			return fmt.Errorf("start service %s on machine %s: %w", kind.Name, server.At.Machine.Name(), err)
		}
	}
	instance, err := built.Start(ctx, env)
	if err != nil {
		return s.unstarted(kind.Name, err)
	}
	s.unserved = 0
	s.served = &served{kind: kind, settings: settings, instance: instance, at: server.At}
	return nil
}

// unstarted is a service that could not be started: the trial is void. The second time in a
// row it is not going to be, and the study ends with one line.
func (s *session) unstarted(name string, err error) error {
	if s.unserved++; s.unserved < 2 {
		return fault.Void("start service %s: %w", name, err)
	}
	return fmt.Errorf("service %s could not be started twice in a row: %s", name, strings.Join(strings.Split(err.Error(), "\n"), " | "))
}

// renews says that each trial gets a fresh service.
func (s *session) renews() bool {
	return slices.ContainsFunc(s.Study.Factors, func(f study.Factor) bool { return (f.OfService || f.Restart) && len(f.Levels) > 1 })
}

// unserve stops the service, if one runs.
func (s *session) unserve(ctx context.Context) error {
	if s.served == nil {
		return nil
	}
	err := s.served.instance.Stop(ctx)
	name := s.served.kind.Name
	s.lodged, s.served = s.served.at, nil
	if err != nil {
		return fmt.Errorf("stop service %s: %w", name, err)
	}
	return nil
}

// unserveMute stops a service that does not answer, as may be why a session ended in
// trouble: what loads left there goes with it, and cannot be removed in any other way.
func (s *session) unserveMute(ctx context.Context, trouble error) error {
	if s.served == nil {
		return nil
	}
	if trouble != nil && s.served.answers() {
		if _, err := s.served.instance.Counters(ctx); err != nil {
			s.served.mute = true
		}
	}
	if s.served.answers() {
		return nil
	}
	return s.unserve(ctx)
}

// clearServices stops the service at the end of a session, and removes the folder of
// services, and that of the run where nothing else lies in it.
func (s *session) clearServices(ctx context.Context, r *restorer) error {
	if err := s.unserve(ctx); err != nil {
		return err
	}
	if s.lodged.Machine == nil { // no service came up; one that did not may have written something
		r.services(ctx)
		return nil
	}
	if err := r.sweepServer(ctx, s.lodged); err != nil {
		return err
	}
	for _, name := range slices.Clone(s.journal.Undo.Servers) {
		if err := s.journal.Append(journal.Entry{Kind: journal.KindServed, Server: name}); err != nil {
			return err
		}
	}
	return nil
}

// target finds where the service listens.
func (s *session) target(protocol string) (load.Endpoint, error) {
	if s.served == nil {
		return load.Endpoint{}, errors.New("no service runs")
	}
	return s.served.instance.Endpoint(protocol)
}

// job is a load of plimsoll's own for a worker.
func (s *session) job(m *machines.Member, settings parameter.Settings, stage load.Stage) agent.Job {
	job := agent.Job{
		Workload: m.Kind.Name, Settings: settings, Stage: stage, Dir: m.At.Dir, Seed: machines.DataSeed(s.Plan.Seed, m.Index),
		Targets: map[string]load.Endpoint{},
	}
	for _, protocol := range m.Kind.Speaks {
		if e, err := s.target(protocol); err == nil {
			job.Targets[protocol] = e
		}
	}
	return job
}

// count reads the counters of the service at the beginning of a load.
func (a *attempt) count(ctx context.Context) {
	if a.served == nil {
		return
	}
	var err error
	if a.served.before, err = a.served.instance.Counters(ctx); err != nil {
		a.served.mute = true
		a.record.Missing = append(a.record.Missing, fmt.Sprintf("service %s: %v", a.served.kind.Name, err))
	}
}

// heard takes over what the service says of itself at the end of a load: its
// settings as it sees them, and its counters. One that counts events becomes a rate
// over the load.
func (a *attempt) heard(ctx context.Context, seconds float64) {
	if a.served == nil {
		return
	}
	name := a.served.kind.Name
	seen, err := a.served.instance.Observed(ctx)
	if err != nil {
		a.record.Warnings = append(a.record.Warnings, fmt.Sprintf("service %s does not say how it is set: %v", name, err))
	}
	for setting, value := range seen {
		a.record.Observed[name+"."+setting] = value
	}
	after, err := a.served.instance.Counters(ctx)
	if err != nil {
		a.served.mute = true
		a.record.Missing = append(a.record.Missing, fmt.Sprintf("service %s: %v", name, err))
		return
	}
	for _, m := range a.served.kind.Metrics {
		v, ok := after[m.Name]
		if !ok {
			continue
		}
		if service.Total(m) {
			from, counted := a.served.before[m.Name]
			if !counted {
				continue
			}
			v = (v - from) / seconds
		}
		a.record.Counters[m.Name] = v
	}
	a.served.kind.Divide(a.record.Counters)
}

// logFile is where a trial keeps what its service logged.
const logFile = "service.log"

// keepLog keeps what the service logged in the trial, also where it died.
func (a *attempt) keepLog(ctx context.Context) {
	if a.served == nil {
		return
	}
	if of, ok := a.served.instance.(service.Logging); ok {
		if text := of.Logged(ctx); len(text) > 0 {
			a.files[logFile] = text
		}
	}
}

// sweepServices removes what services left that died with their run. Their
// processes died with it.
func sweepServices(ctx context.Context, p machines.Workspace, mark string) error {
	if err := p.Marked(ctx, mark); err != nil {
		return err
	}
	folder := path.Join(p.Dir, serviceFolder)
	listed, err := p.Command(ctx, "ls", "--", folder)
	if err != nil {
		return fmt.Errorf("look for what services left in %s: %w", p.Dir, err)
	}
	for name := range strings.FieldsSeq(string(listed.Stdout)) {
		left := path.Join(folder, name)
		if err := errors.Join(service.Unwire(ctx, p.Machine, left), service.ReleaseSegments(ctx, p.Machine, left)); err != nil {
			return err
		}
	}
	removed, err := p.Command(ctx, "rm", "-rf", "--", folder)
	if err == nil && removed.Exit != 0 {
		err = errors.New(machines.LastLine(removed.Stderr))
	}
	if err != nil {
		return fmt.Errorf("remove what services left in %s: %w", p.Dir, err)
	}
	return nil
}
