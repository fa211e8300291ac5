// Package survey surveys a host, and a storage cluster that the user provides, for an easy run.
package survey

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"plimsoll/internal/hci"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/service/ceph"
)

// Place is where an easy run takes place.
type Place struct {
	Dir        string // below which results go; it need not exist
	Conf, Pool string // ceph.conf of a cluster that the user provides, and its pool; empty for none
	Redundancy string // of a private cluster; empty for the default
}

// Of surveys the machine and the cluster.
func Of(ctx context.Context, m platform.Machine, at Place) (hci.Survey, error) {
	s := hci.Survey{Memory: service.Memory(ctx, m)}
	cpus, err := printed(ctx, m, "nproc")
	if err != nil {
		return s, err
	}
	if s.CPUs, err = strconv.Atoi(cpus); err != nil {
		return s, fmt.Errorf("survey this host: nproc printed %q", cpus)
	}
	if s.Disk, err = free(ctx, m, at.Dir); err != nil {
		return s, err
	}
	if at.Conf == "" {
		s.Copies, err = ceph.Amplification(at.Redundancy)
		return s, err
	}
	space, err := ceph.Survey(ctx, m, at.Conf, at.Pool)
	if err != nil {
		return s, err
	}
	s.Cluster = &hci.Cluster{Hosts: space.Hosts, OSDs: space.OSDs, Total: parameter.Bytes(space.Total), Free: parameter.Bytes(space.Free)}
	return s, nil
}

// free is the space below a folder, or the nearest one above it that exists.
func free(ctx context.Context, m platform.Machine, dir string) (parameter.Bytes, error) {
	for {
		text, err := printed(ctx, m, "stat", "--file-system", "--format", "%a %S", "--", dir)
		if up := filepath.Dir(dir); err != nil && up != dir {
			dir = up
			continue
		}
		var blocks, size int64
		if _, failed := fmt.Sscan(text, &blocks, &size); err != nil || failed != nil {
			return 0, fmt.Errorf("survey the free space of %s: stat printed %q", dir, text)
		}
		return parameter.Bytes(blocks * size), nil
	}
}

func printed(ctx context.Context, m platform.Machine, argv ...string) (string, error) {
	r, err := m.Run(ctx, platform.Command{Argv: argv})
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("status %d: %s", r.Exit, strings.TrimSpace(string(r.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("survey this host with %s: %w", argv[0], err)
	}
	return strings.TrimSpace(string(r.Stdout)), nil
}
