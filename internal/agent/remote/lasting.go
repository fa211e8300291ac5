package remote

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"plimsoll/internal/platform"
)

// Lasting is a machine that outlives its connections: each call asks for the one that is
// there now, which Up makes where there is none. Platforms embed it and say themselves what
// the machine is called and where its workers may run.
type Lasting struct {
	Up func(ctx context.Context) (*Machine, error)

	claiming sync.Mutex // guards what follows
	kept     []*kept
}

// kept is a claim on settings, which each new connection takes again.
type kept struct {
	platform.Claim
	on      *Machine
	release func()
}

// reach is the machine, connected, with its settings claimed.
func (l *Lasting) reach(ctx context.Context) (*Machine, error) {
	far, err := l.Up(ctx)
	if err != nil {
		return nil, err
	}
	l.claiming.Lock()
	defer l.claiming.Unlock()
	for _, k := range l.kept {
		if k.on == far {
			continue
		}
		release, err := far.Claim(ctx, k.Claim)
		if err != nil {
			return nil, fmt.Errorf("claim its settings again after the connection was lost: %w", err)
		}
		k.on, k.release = far, release
	}
	return far, nil
}

// Claim claims settings of the machine's host until release is called.
func (l *Lasting) Claim(ctx context.Context, c platform.Claim) (release func(), err error) {
	far, err := l.reach(ctx)
	if err != nil {
		return nil, err
	}
	free, err := far.Claim(ctx, c)
	if err != nil {
		return nil, err
	}
	k := &kept{Claim: c, on: far, release: free}
	l.claiming.Lock()
	defer l.claiming.Unlock()
	l.kept = append(l.kept, k)
	return func() {
		l.claiming.Lock()
		defer l.claiming.Unlock()
		l.kept = slices.DeleteFunc(l.kept, func(o *kept) bool { return o == k })
		k.release()
	}, nil
}

// Run runs a command on the machine.
func (l *Lasting) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	if err := ctx.Err(); err != nil {
		return platform.Result{}, err
	}
	far, err := l.reach(ctx)
	if err != nil {
		return platform.Result{}, err
	}
	return far.Run(ctx, c)
}

// ReadFile reads a small file of the machine.
func (l *Lasting) ReadFile(ctx context.Context, name string) ([]byte, error) {
	far, err := l.reach(ctx)
	if err != nil {
		return nil, err
	}
	return far.ReadFile(ctx, name)
}

// WriteFile writes a small file of the machine.
func (l *Lasting) WriteFile(ctx context.Context, name string, data []byte) error {
	far, err := l.reach(ctx)
	if err != nil {
		return err
	}
	return far.WriteFile(ctx, name, data)
}

// Self is the path of the agent on the machine.
func (l *Lasting) Self(ctx context.Context) (string, error) {
	far, err := l.reach(ctx)
	if err != nil {
		return "", err
	}
	return far.Self(ctx)
}

// Clock is the state of the machine's clock.
func (l *Lasting) Clock(ctx context.Context) (platform.Clock, error) {
	far, err := l.reach(ctx)
	if err != nil {
		return platform.Clock{}, err
	}
	return far.Clock(ctx)
}

// Offset is how far the machine's clock is ahead of this process's.
func (l *Lasting) Offset(ctx context.Context) (offset, uncertainty time.Duration, err error) {
	far, err := l.reach(ctx)
	if err != nil {
		return 0, 0, err
	}
	return far.Offset(ctx)
}

// Space is the room in a file system of the machine.
func (l *Lasting) Space(ctx context.Context, dir string) (platform.Space, error) {
	far, err := l.reach(ctx)
	if err != nil {
		return platform.Space{}, err
	}
	return far.Space(ctx, dir)
}

// Dial connects from the machine to what it can reach.
func (l *Lasting) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	far, err := l.reach(ctx)
	if err != nil {
		return nil, err
	}
	return far.Dial(ctx, network, address)
}

// Confinable says what the machine lacks for a confinement.
func (l *Lasting) Confinable(ctx context.Context, c platform.Confinement) error {
	far, err := l.reach(ctx)
	if err != nil {
		return err
	}
	return far.Confinable(ctx, c)
}
