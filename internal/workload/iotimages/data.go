package iotimages

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"plimsoll/internal/images"
	"plimsoll/internal/images/cifar"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
)

// The files in the folder of the workload: the images, and the SHA-256 of that file.
const (
	setName = "images.bin"
	sumName = "images.sha256"
)

// find reads the images on plimsoll's own machine.
func (i *iotImages) find() ([]images.Image, error) {
	if i.Data == sample {
		if i.sampled == nil {
			return nil, errors.New("this program has no images of its own: run plimsoll itself")
		}
		set, err := i.sampled()
		if err != nil {
			return nil, err
		}
		return set[:min(i.Images, len(set))], nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find the images of CIFAR-10: %w", err)
	}
	return cifar.Load(cifar.Folder(cache), i.Images)
}

// describeSet tells the data of a study.
func describeSet(name string, set []images.Image) string {
	sum := sha256.Sum256(cifar.Marshal(set))
	return fmt.Sprintf("%s, %d (sha256 %s)", name, len(set), hex.EncodeToString(sum[:8]))
}

// Prepare stores the images on the machine of the load.
func (i *iotImages) Prepare(ctx context.Context, env workload.Env) error {
	set, err := i.find()
	if err != nil {
		return err
	}
	data := cifar.Marshal(set)
	sum := sha256.Sum256(data)
	text := []byte(hex.EncodeToString(sum[:]))
	mark := path.Join(env.Dir, sumName)
	if was, err := env.Machine.ReadFile(ctx, mark); err == nil && string(was) == string(text) {
		return nil
	}
	if err := command(ctx, env, "mkdir", "-p", "--", env.Dir); err != nil {
		return err
	}
	if err := env.Machine.WriteFile(ctx, path.Join(env.Dir, setName), data); err != nil {
		return fmt.Errorf("store the images: %w", err)
	}
	if err := env.Machine.WriteFile(ctx, mark, text); err != nil {
		return fmt.Errorf("store the images: %w", err)
	}
	return nil
}

// stored reads the images on the machine of the load.
func stored(env workload.Env) ([]images.Image, error) {
	data, err := os.ReadFile(path.Join(env.Dir, setName))
	var want []byte
	if err == nil {
		want, err = os.ReadFile(path.Join(env.Dir, sumName))
	}
	if err != nil {
		return nil, fmt.Errorf("read the images: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != string(want) {
		return nil, fmt.Errorf("the images in %s have changed since they were stored: start the run again", env.Dir)
	}
	return cifar.Unmarshal(data)
}

// Clean removes the images.
func (i *iotImages) Clean(ctx context.Context, env workload.Env) error {
	if err := command(ctx, env, "rm", "-f", "--", path.Join(env.Dir, setName), path.Join(env.Dir, sumName)); err != nil {
		return err
	}
	r, err := env.Machine.Run(ctx, platform.Command{Argv: []string{"test", "-d", env.Dir}})
	if err != nil || r.Exit != 0 {
		return err
	}
	return command(ctx, env, "rmdir", "--ignore-fail-on-non-empty", "--", env.Dir)
}

func command(ctx context.Context, env workload.Env, argv ...string) error {
	r, err := env.Machine.Run(ctx, platform.Command{Argv: argv})
	if err == nil && r.Exit != 0 {
		err = errors.New(strings.TrimSpace(string(r.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("%s on machine %s: %w", argv[0], env.Machine.Name(), err)
	}
	return nil
}
