package guest

import (
	"context"
	"fmt"
	"strings"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/view"
)

const free = "none"

// pins are the CPUs of the host for each vCPU: of one list for all of them, or of a list
// for each with slashes between them.
func (s Settings) pins() ([]string, error) {
	if s.Pin == "" || s.Pin == free {
		return nil, nil
	}
	lists := strings.Split(s.Pin, "/")
	for i, l := range lists {
		cpus, err := view.List(strings.TrimSpace(l))
		if err == nil && len(cpus) == 0 {
			err = fmt.Errorf("no CPU")
		}
		if err != nil {
			return nil, fmt.Errorf("pin %q: %w: want none, CPUs of the host for all vCPUs as in 0-1, or for each as in 0/1", s.Pin, err)
		}
		lists[i] = qemu.ListOf(cpus)
	}
	if len(lists) > 1 && len(lists) != s.VCPUs && s.VCPUs > 0 {
		return nil, fmt.Errorf("pin %q has CPUs for %d vCPUs, and the guest has %d", s.Pin, len(lists), s.VCPUs)
	}
	for len(lists) < s.VCPUs {
		lists = append(lists, lists[0])
	}
	return lists, nil
}

// pinText is the shortest way to write which vCPU runs where.
func pinText(lists []string) string {
	for _, l := range lists {
		if l != lists[0] {
			return strings.Join(lists, "/")
		}
	}
	if len(lists) == 0 {
		return free
	}
	return lists[0]
}

// hosts are the NUMA nodes of the host that memory comes from.
func (s Settings) hosts() ([]int, error) {
	if s.HostNodes == "" || s.HostNodes == free {
		return nil, nil
	}
	nodes, err := view.List(s.HostNodes)
	if err == nil && len(nodes) == 0 {
		err = fmt.Errorf("no node")
	}
	if err != nil {
		return nil, fmt.Errorf("host_nodes %q: %w: want none, or NUMA nodes of the host as in 0 or 0-1", s.HostNodes, err)
	}
	return nodes, nil
}

// place puts the guest that has just booted where the settings have it on the host.
func (m *machine) place(ctx context.Context) error {
	if m.settings.Scheduler == "" {
		return nil
	}
	s, err := qemu.ParseScheduling(m.settings.Scheduler)
	if err != nil {
		return err
	}
	return m.vm.Schedule(ctx, s)
}

func pinFactor() factor.Factor {
	return part{
		canon: func(s Settings) string {
			lists, _ := s.pins() // judged before
			return pinText(lists)
		},
		see: one(func(ctx context.Context, r live) (string, error) {
			vcpus, unpinned, err := r.vm.Affinity(ctx)
			if err != nil {
				return "", err
			}
			text := pinText(vcpus)
			if lists, _ := r.settings.pins(); len(lists) == 0 && text == unpinned {
				return free, nil
			}
			return text, nil
		}),
		set: func(s *Settings, level string) error {
			s.Pin = level
			trial := Settings{Pin: level}
			_, err := trial.pins()
			return err
		},
	}.factor(factor.Factor{
		Name: "guest.pin", Example: []string{"none", "0-1"},
		Doc: "CPU affinity of a guest's vCPUs: none, one list for all as in 0-1, or one per vCPU as in 0/1; read back from the host's kernel",
	})
}

func schedulerFactor() factor.Factor {
	return part{
		canon: func(s Settings) string {
			c, _ := qemu.ParseScheduling(s.Scheduler) // judged before
			return c.String()
		},
		see: one(func(ctx context.Context, r live) (string, error) {
			s, err := r.vm.Scheduling(ctx)
			return s.String(), err
		}),
		set: func(s *Settings, level string) error {
			s.Scheduler = level
			_, err := qemu.ParseScheduling(level)
			return err
		},
	}.factor(factor.Factor{
		Name: "guest.scheduler", Example: []string{"other", "batch"},
		Doc: "host scheduling policy of a guest's vCPUs: other or batch with a nice value as in other:5, idle, or fifo with a priority as in fifo:10; read back from the host's kernel",
	})
}
