package trial

import (
	"plimsoll/internal/agent"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/trial/machines"
)

// job is a load of plimsoll's own for a worker.
func (s *session) job(m *machines.Member, settings parameter.Settings, stage load.Stage) agent.Job {
	job := agent.Job{
		Workload: m.Kind.Name, Settings: settings, Stage: stage, Dir: m.At.Dir, Seed: machines.DataSeed(s.Plan.Seed, m.Index),
		Targets: map[string]load.Endpoint{},
	}
	for _, protocol := range m.Kind.Speaks {
		if e, err := s.services.Target(protocol); err == nil {
			job.Targets[protocol] = e
		}
	}
	return job
}
