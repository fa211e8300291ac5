package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
)

// What the disks are.
const (
	autoBacking  = "auto"
	fileBacking  = "file"
	imageBacking = "image"
)

const (
	protocol    = "rbd" // of a service whose images are the disks
	imageEngine = "rbd" // fio's, which is a client of the cluster in user space
)

// imagePool is a pool of a Ceph cluster, in which disks are images.
type imagePool struct{ load.Endpoint }

// at is the load on the disks that an environment has: images, where the service of the study has them.
func (d *disks) at(env workload.Env) *disks {
	if d.pattern.Backing == fileBacking {
		return d
	}
	return d.withImages(env)
}

// withImages is the load on images, whatever its disks are to be.
func (d *disks) withImages(env workload.Env) *disks {
	on := *d
	if env.Target != nil {
		if e, err := env.Target(protocol); err == nil {
			if len(e.Config) > 0 {
				e.Address = path.Join(env.Dir, "ceph-"+e.Database+".conf")
			}
			on.pattern.cluster = &imagePool{e}
			return &on
		}
	}
	if slices.Contains(env.Speaks, protocol) { // it does not run yet
		on.pattern.cluster = &imagePool{}
	}
	return &on
}

// backing is what the disks are.
func backing(p *pattern) string {
	if p.cluster != nil {
		return imageBacking
	}
	return fileBacking
}

// refuseImages finds settings that do not go together with images.
func refuseImages(p *pattern) error {
	_, serving := p.filters()
	switch {
	case p.cluster == nil && p.Backing == imageBacking:
		return errors.New("backing image requires a service with images: set service: ceph")
	case p.Backing != autoBacking && len(p.Targets) > 0:
		return fmt.Errorf("backing %s and targets exclude each other: omit one of them", p.Backing)
	case p.cluster == nil && p.Engine == imageEngine && p.Backing == fileBacking:
		return fmt.Errorf("engine %s cannot reach files: omit engine", imageEngine)
	case p.cluster == nil && p.Engine == imageEngine:
		return fmt.Errorf("engine %s requires a service with images: set service: ceph", imageEngine)
	case p.cluster == nil:
		return nil
	case p.Engine != "auto" && p.Engine != imageEngine:
		return fmt.Errorf("engine %s cannot reach the images of a Ceph cluster, which is done by %s: omit engine", p.Engine, imageEngine)
	case serving:
		return fmt.Errorf("through %s: plimsoll's server serves files only, not images of a Ceph cluster: omit through", p.Through)
	case len(p.Targets) > 0:
		return fmt.Errorf("targets: the disks are images of the Ceph cluster: omit targets, or service")
	}
	return nil
}

// refuseCluster finds a cluster that the machine does not reach, and images that the cluster cannot hold.
func (d *disks) refuseCluster(ctx context.Context, env workload.Env) error {
	p := &d.pattern
	if p.cluster == nil {
		return nil
	}
	if _, err := env.Machine.ReadFile(ctx, p.cluster.Address); err != nil && len(p.cluster.Config) == 0 {
		return &workload.Refused{Err: fmt.Errorf("machine %s has no %s, which leads to the Ceph cluster: run the load on the machine of the service, or provide the cluster there (%w)", env.Machine.Name(), p.cluster.Address, err)}
	}
	if p.cluster.Capacity == 0 {
		return nil
	}
	if need := p.Size * parameter.Bytes(p.Disks); need > parameter.Bytes(p.cluster.Capacity) {
		return &workload.Refused{Err: fmt.Errorf("%d images of %s need %s, but the cluster can hold %s with its redundancy: reduce storage.size or storage.disks, or raise ceph.size or ceph.osds",
			p.Disks, p.Size, need, parameter.Bytes(p.cluster.Capacity).About())}
	}
	return nil
}

// configure writes the configuration of clients to a machine that does not have it.
func (p *imagePool) configure(ctx context.Context, env workload.Env, in *manifest) error {
	if p == nil || len(p.Config) == 0 {
		return nil
	}
	if !slices.Contains(in.Files, p.Address) {
		in.Files = append(in.Files, p.Address)
		if err := writeManifest(ctx, env, *in); err != nil {
			return err
		}
	}
	if err := env.Machine.WriteFile(ctx, p.Address, p.Config); err != nil {
		return fmt.Errorf("write the configuration of clients of the Ceph cluster: %w", err)
	}
	return nil
}

// imagePrefix is what the names of all images of a load begin with. Loads on different machines have different ones.
func imagePrefix(env workload.Env) string {
	sum := sha256.Sum256([]byte(env.Machine.Name() + "\x00" + env.Dir))
	return "plimsoll-" + hex.EncodeToString(sum[:6]) + "-"
}

func imageName(env workload.Env, i int) string { return fmt.Sprintf("%s%02d", imagePrefix(env), i+1) }

// image says to fio which image a disk is.
func (p *imagePool) image(name string) []string {
	return []string{"--clientname=admin", "--pool=" + p.Database, "--rbdname=" + name}
}

// in is a command that finds the cluster, if the disks are there.
func (p *imagePool) in(argv []string) []string {
	if p == nil {
		return argv
	}
	// Arguments of the user's environment would lead to another cluster.
	return append([]string{"env", "-u", "CEPH_ARGS", "CEPH_CONF=" + p.Address}, argv...)
}

// rbd runs the client for images.
func (p *imagePool) rbd(ctx context.Context, env workload.Env, argv ...string) (string, error) {
	command := p.in(append([]string{"rbd", "--pool", p.Database}, argv...))
	printed, err := output(ctx, env.Machine, platform.Command{Argv: command})
	if err != nil {
		return "", fmt.Errorf("rbd %s: %w", strings.Join(argv, " "), err)
	}
	return printed, nil
}

// images are the sizes of the images of the load, by name.
func (p *imagePool) images(ctx context.Context, env workload.Env) (map[string]parameter.Bytes, error) {
	printed, err := p.rbd(ctx, env, "ls", "--long", "--format", "json")
	if err != nil {
		return nil, err
	}
	var list []struct {
		Image string `json:"image"`
		Size  int64  `json:"size"`
	}
	if err := json.Unmarshal([]byte(printed), &list); err != nil {
		return nil, fmt.Errorf("parse the list of images: %w", err)
	}
	sizes := map[string]parameter.Bytes{}
	for _, one := range list {
		if strings.HasPrefix(one.Image, imagePrefix(env)) {
			sizes[one.Image] = parameter.Bytes(one.Size)
		}
	}
	return sizes, nil
}

// makeImage makes an empty image in the place of one that holds something else.
func (p *imagePool) makeImage(ctx context.Context, env workload.Env, on disk) error {
	there, err := p.images(ctx, env)
	if err != nil {
		return err
	}
	if _, exists := there[on.path]; exists {
		if err := p.removeImage(ctx, env, on.path); err != nil {
			return err
		}
	}
	_, err = p.rbd(ctx, env, "create", "--size", bytes(on.size)+"B", on.path)
	return err
}

// watched is how long an image of a client that was killed cannot be removed: the cluster waits for it for 30 s (osd_client_watch_timeout).
const watched = 40 * time.Second

// removeImage removes an image, also one whose client was killed a moment ago.
func (p *imagePool) removeImage(ctx context.Context, env workload.Env, name string) error {
	for began := time.Now(); ; {
		_, err := p.rbd(ctx, env, "rm", "--no-progress", name)
		if err == nil || !strings.Contains(err.Error(), "watchers") || time.Since(began) > watched {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Second):
		}
	}
}

// removeImages removes the images that the load made, and those only. Those of a private cluster go with it.
func (p *imagePool) removeImages(ctx context.Context, env workload.Env) error {
	if p == nil || p.Address == "" || p.Private {
		return nil
	}
	there, err := p.images(ctx, env)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if err := p.removeImage(ctx, env, name); err != nil {
			return err
		}
	}
	return nil
}
