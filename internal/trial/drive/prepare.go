package drive

import (
	"context"
	"fmt"

	"plimsoll/internal/agent"
	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/workload"
)

// Prepare makes the files of the loads. It is logged once for each load, and done before
// each trial: a workload that finds its work done does nothing, and loads may disturb each
// other's files.
func (d *Driver) Prepare(ctx context.Context, j *journal.Journal, m *machines.Inventory) error {
	var fresh machines.Set
	for _, m := range d.ArmGroups.Driving() {
		if !j.Undo.Prepared(entryOf(m)) {
			fresh = append(fresh, m)
			e := entryOf(m)
			if err := j.Append(journal.Entry{Kind: journal.KindPrepare, Load: &e}); err != nil {
				return err
			}
		}
	}
	j.Step("before prepare")
	if err := m.MakeScratch(ctx, d.ArmGroups); err != nil {
		return err
	}
	err := d.ArmGroups.Driving().Each(ctx, func(ctx context.Context, m *machines.Member) error {
		if err := m.Load.Prepare(ctx, d.EnvOf(m)); err != nil {
			return err
		}
		return d.calibrate(ctx, m)
	})
	j.Step("after prepare")
	if err != nil {
		return fmt.Errorf("prepare workload %s in %s: %w", d.Kind.Name, m.Scratch, err)
	}
	for _, m := range fresh {
		e := entryOf(m)
		if err := j.Append(journal.Entry{Kind: journal.KindPrepared, Load: &e}); err != nil {
			return err
		}
	}
	return nil
}

// calibrate calibrates a load that needs it, in a worker on its machine.
func (d *Driver) calibrate(ctx context.Context, m *machines.Member) error {
	c, ok := m.Load.(workload.Calibrated)
	if !ok || !m.Kind.Own || madeByLab(m) {
		return nil
	}
	env := d.EnvOf(m)
	env.Known = d.Known
	most, err := c.Calibration(ctx, env)
	if err != nil || most == 0 {
		return err
	}
	job := d.job(m, m.Settings, load.Stage{Length: most, Interval: most, Seed: machines.DataSeed(d.Seed, m.Index)})
	job.Calibrate = true
	return agent.Run(ctx, agent.Env{Machine: m.At.Machine, Log: d.Log}, job, measure.NewRecorder(nil))
}

// entryOf is the load of a member as the journal has it.
func entryOf(m *machines.Member) journal.Load {
	e := journal.Load{Machine: m.Name, Settings: m.Settings}
	if m.Name != "" {
		e.Workload, e.Index = m.Kind.Name, m.Index
	}
	return e
}

// EnvOf is where a member's load runs.
func (d *Driver) EnvOf(m *machines.Member) workload.Env {
	env := m.At.Env(machines.DataSeed(d.Seed, m.Index))
	env.Log, env.Target = d.Log, d.targetOf(m)
	if m.Name != "" {
		env.Log = func(format string, args ...any) { d.Log(m.Name+": "+format, args...) }
	}
	if find := env.Target; madeByLab(m) {
		env.Target = func(protocol string) (load.Endpoint, error) {
			e, err := find(protocol)
			return Through(m.At.Machine, e), err
		}
	}
	return env
}

// madeByLab reports whether this process makes the load of another machine, which lacks its clients.
func madeByLab(m *machines.Member) bool { return m.Kind.Lab && !isLocal(m.At.Machine) }

func isLocal(m platform.Machine) bool {
	local, is := m.(platform.Local)
	return is && local.Local()
}

// Through is the endpoint of a service as this process reaches it from a machine: connections to one of the study begin there.
func Through(m platform.Machine, e load.Endpoint) load.Endpoint {
	if far, can := m.(platform.Dialer); can && e.Private && !isLocal(m) {
		e.Dial = far.Dial
	}
	return e
}

// targetOf finds the service that a member talks to.
func (d *Driver) targetOf(m *machines.Member) func(protocol string) (load.Endpoint, error) {
	if m.Target != nil {
		return m.Target
	}
	return d.Target
}

// job is a load of plimsoll's own for a worker.
func (d *Driver) job(m *machines.Member, settings parameter.Settings, stage load.Stage) agent.Job {
	job := agent.Job{
		Workload: m.Kind.Name, Settings: settings, Stage: stage, Dir: m.At.Dir, Seed: machines.DataSeed(d.Seed, m.Index),
		Targets: map[string]load.Endpoint{},
	}
	for _, protocol := range m.Kind.Speaks {
		if e, err := d.targetOf(m)(protocol); err == nil {
			job.Targets[protocol] = e
		}
	}
	return job
}
