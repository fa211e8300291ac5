package vm

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"plimsoll/internal/factor"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/parameter"
)

// claim is a reservation, shares or another resource setting of a VM on its host.
type claim struct {
	parse  func(c *spec.Claims, level string) error
	format func(c spec.Claims) string
}

func (k claim) factor(f factor.Factor) factor.Factor {
	f.Restart = true
	f.Check = func(_ context.Context, at factor.Env, level string) (string, error) {
		var c spec.Claims
		if err := k.parse(&c, level); err != nil || at.Machine == nil {
			return level, err
		}
		_, err := claimant(at)
		return k.format(c), err
	}
	f.Get = func(ctx context.Context, at factor.Env) (string, error) {
		m, err := claimant(at)
		if err != nil {
			return "", err
		}
		c, err := m.ReadClaims(ctx)
		return k.format(c), err
	}
	f.Set = func(_ context.Context, at factor.Env, level string) error {
		m, err := claimant(at)
		if err != nil {
			return err
		}
		c := m.Claims()
		if err := k.parse(&c, level); err != nil {
			return err
		}
		m.SetClaims(c)
		return nil
	}
	return f
}

func claimant(at factor.Env) (spec.Claimant, error) {
	if m, ok := at.Machine.(spec.Claimant); ok {
		return m, nil
	}
	return nil, fmt.Errorf("only VMs of platform vsphere have it: %w", errors.ErrUnsupported)
}

func count(what string, to func(c *spec.Claims) *int) claim {
	return claim{
		parse: func(c *spec.Claims, level string) error {
			n, err := strconv.Atoi(level)
			if err != nil || n < 0 || n > 10_000_000 {
				return fmt.Errorf("%q: must be a number of %s", level, what)
			}
			*to(c) = n
			return nil
		},
		format: func(c spec.Claims) string { return strconv.Itoa(*to(&c)) },
	}
}

func cpuReservation() factor.Factor {
	return count("MHz, or 0", func(c *spec.Claims) *int { return &c.CPUReservation }).factor(factor.Factor{
		Name: "guest.cpu_reservation", Example: []string{"0", "2000"}, Doc: "CPU reservation of a VM on vsphere, in MHz; read back from the vCenter",
	})
}

func cpuShares() factor.Factor {
	return count("shares, or 0 for the default", func(c *spec.Claims) *int { return &c.CPUShares }).factor(factor.Factor{
		Name: "guest.cpu_shares", Example: []string{"0", "4000"}, Doc: "CPU shares of a VM on vsphere; 0 is the default; read back from the vCenter",
	})
}

func memoryReservation() factor.Factor {
	return claim{
		parse: func(c *spec.Claims, level string) error {
			var n parameter.Bytes
			if err := n.UnmarshalText([]byte(level)); err != nil {
				return fmt.Errorf("%q: must be %w", level, err)
			}
			c.MemoryReservation = n
			return nil
		},
		format: func(c spec.Claims) string { return c.MemoryReservation.String() },
	}.factor(factor.Factor{
		Name: "guest.memory_reservation", Example: []string{"0B", "512MiB"}, Doc: "memory reservation of a VM on vsphere; read back from the vCenter",
	})
}

func latencySensitivity() factor.Factor {
	return claim{
		parse: func(c *spec.Claims, level string) error {
			if level != spec.NormalLatency && level != spec.HighLatency {
				return fmt.Errorf("%q: must be normal or high", level)
			}
			c.LatencySensitivity = level
			return nil
		},
		format: func(c spec.Claims) string { return c.LatencySensitivity },
	}.factor(factor.Factor{
		Name: "guest.latency_sensitivity", Example: []string{"normal", "high"},
		Doc: "latency sensitivity of a VM on vsphere: normal or high, which needs all memory reserved; read back from the vCenter",
	})
}
