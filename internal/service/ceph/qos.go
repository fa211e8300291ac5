package ceph

import (
	"context"

	"plimsoll/internal/platform"
	"plimsoll/internal/service/ceph/counter"
)

// countLimits adds the limits of images in a pool. What cannot be read is left out.
func countLimits(ctx context.Context, m platform.Machine, conf, pool string, all map[string]float64) {
	r, err := m.Run(ctx, platform.Command{Argv: []string{"env", "-u", "CEPH_ARGS", "rbd", "--conf", conf, "--format", "json", "config", "pool", "ls", pool}})
	if err == nil && r.Exit == 0 {
		counter.TakeLimits(r.Stdout, all)
	}
}
