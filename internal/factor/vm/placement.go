package vm

import (
	"context"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/inspect"
	"plimsoll/internal/guest/spec"
)

func pin() factor.Factor {
	return setting{
		ownQEMU: true,
		canonical: func(g spec.Guest) string {
			lists, _ := g.Pins() // validated before
			return spec.PinText(lists)
		},
		read: func(ctx context.Context, r spec.Running) (string, error) {
			vcpus, unpinned, err := r.QEMU.Affinity(ctx)
			if err != nil {
				return "", err
			}
			text := spec.PinText(vcpus)
			if lists, _ := r.Spec.Pins(); len(lists) == 0 && text == unpinned {
				return spec.Unset, nil
			}
			return text, nil
		},
		set: func(g *spec.Guest, level string) error {
			g.Pin = level
			_, err := spec.Guest{Pin: level}.Pins()
			return err
		},
	}.factor(factor.Factor{
		Name: "guest.pin", Example: []string{"none", "0-1"},
		Doc: "CPU affinity of a guest's vCPUs: none, one list for all as in 0-1, or one per vCPU as in 0/1; read back from the host's kernel",
	})
}

func scheduler() factor.Factor {
	return setting{
		ownQEMU: true,
		canonical: func(g spec.Guest) string {
			s, _ := inspect.ParseScheduling(g.Scheduler) // validated before
			return s.String()
		},
		read: func(ctx context.Context, r spec.Running) (string, error) {
			s, err := r.QEMU.Scheduling(ctx)
			return s.String(), err
		},
		set: func(g *spec.Guest, level string) error {
			g.Scheduler = level
			_, err := inspect.ParseScheduling(level)
			return err
		},
	}.factor(factor.Factor{
		Name: "guest.scheduler", Example: []string{"other", "batch"},
		Doc: "host scheduling policy of a guest's vCPUs: other:NICE, batch:NICE, idle or fifo:PRIORITY, such as other:5 or fifo:10; read back from the host's kernel",
	})
}
