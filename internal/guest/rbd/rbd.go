// Package rbd makes and removes images of a Ceph cluster that are disks of VMs, by the client rbd on the host.
package rbd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/platform"
)

// Pool is a pool of a cluster.
type Pool struct {
	Machine platform.Machine // that has the client
	Conf    string           // path of the configuration that leads to the cluster
	Name    string
}

// Make makes an image with the content of a file. Holes of the file take no space.
func (p Pool) Make(ctx context.Context, name, file string) error {
	content, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("make image %s: %w", name, err)
	}
	defer content.Close()
	info, err := content.Stat()
	if err != nil {
		return fmt.Errorf("make image %s: %w", name, err)
	}
	// Layering alone: with an exclusive lock, the two ends of a migration would take turns.
	if _, err := p.run(ctx, nil, "create", "--size", strconv.FormatInt(info.Size(), 10)+"B", "--image-feature", "layering", name); err != nil {
		return err
	}
	in, out := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := writeDiff(out, content, info.Size())
		written <- err
		_ = out.CloseWithError(err)
	}()
	_, err = p.run(ctx, in, "import-diff", "--no-progress", "-", name)
	_ = in.CloseWithError(io.ErrClosedPipe)
	if failed := <-written; err == nil {
		err = failed
	}
	return err
}

// List lists the images whose names begin with a prefix.
func (p Pool) List(ctx context.Context, prefix string) ([]string, error) {
	printed, err := p.run(ctx, nil, "ls", "--format", "json")
	if err != nil {
		return nil, err
	}
	var names []string
	if err := json.Unmarshal(printed, &names); err != nil {
		return nil, fmt.Errorf("parse the list of images of pool %s: %w", p.Name, err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) }), nil
}

// Clear removes the images whose names begin with a prefix.
func (p Pool) Clear(ctx context.Context, prefix string) error {
	names, err := p.List(ctx, prefix)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := p.Remove(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// watched is how long an image of a client that was killed cannot be removed: the cluster waits for it for 30 s (osd_client_watch_timeout).
const watched = 40 * time.Second

// Remove removes an image, also one whose client was killed a moment ago.
func (p Pool) Remove(ctx context.Context, name string) error {
	for began := time.Now(); ; {
		_, err := p.run(ctx, nil, "rm", "--no-progress", name)
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

// answering is how long the cluster has for a command. Its client waits without a limit for placement groups that do not serve.
const answering = 2 * time.Minute

// run runs the client. Arguments of the user's environment would lead to another cluster.
func (p Pool) run(ctx context.Context, stdin io.Reader, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answering, fmt.Errorf("no answer from the cluster for %s", answering))
	defer cancel()
	r, err := p.Machine.Run(ctx, platform.Command{
		Argv: append([]string{"env", "-u", "CEPH_ARGS", "CEPH_CONF=" + p.Conf, "rbd", "--pool", p.Name}, argv...), Stdin: stdin,
	})
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("status %d: %s", r.Exit, strings.TrimSpace(string(r.Stderr)))
	}
	if err != nil {
		return nil, fmt.Errorf("rbd %s: %w", strings.Join(argv, " "), err)
	}
	return r.Stdout, nil
}
