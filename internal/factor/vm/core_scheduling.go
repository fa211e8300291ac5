package vm

import (
	"context"
	"fmt"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/coresched"
	"plimsoll/internal/guest/spec"
)

func coreScheduling() factor.Factor {
	return setting{
		ownQEMU: true,
		canonical: func(g spec.Guest) string {
			p, _ := coresched.Parse(g.Sharing) // validated before
			return string(p)
		},
		read: func(_ context.Context, r spec.Running) (string, error) {
			h, err := coresched.ThisHost()
			if err != nil {
				return "", err
			}
			s, err := coresched.Read(r.QEMU.PID)
			if err != nil {
				return "", err
			}
			p, err := s.Policy(h)
			if err != nil {
				err = fmt.Errorf("core scheduling of guest %s: %w", r.QEMU.Name, err)
			}
			return string(p), err
		},
		set: func(g *spec.Guest, level string) error {
			g.Sharing = level
			_, err := coresched.Parse(level)
			return err
		},
	}.factor(factor.Factor{
		Name: "guest.core_scheduling", Example: []string{string(coresched.Default), string(coresched.OneGuest)},
		Doc: "what runs beside a guest on the other thread of a core: default, one-thread-per-core or one-guest-per-core; read back from the kernel",
	})
}
