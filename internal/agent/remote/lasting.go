package remote

import (
	"context"
	"net"
	"time"

	"plimsoll/internal/platform"
)

// Lasting is a machine that outlives its connections: each call asks for the one that is
// there now, which Up makes where there is none. Platforms embed it and say themselves what
// the machine is called and where its workers may run.
type Lasting struct {
	Up func(ctx context.Context) (*Machine, error)
}

// Run runs a command on the machine.
func (l Lasting) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	if err := ctx.Err(); err != nil {
		return platform.Result{}, err
	}
	far, err := l.Up(ctx)
	if err != nil {
		return platform.Result{}, err
	}
	return far.Run(ctx, c)
}

// ReadFile reads a small file of the machine.
func (l Lasting) ReadFile(ctx context.Context, name string) ([]byte, error) {
	far, err := l.Up(ctx)
	if err != nil {
		return nil, err
	}
	return far.ReadFile(ctx, name)
}

// WriteFile writes a small file of the machine.
func (l Lasting) WriteFile(ctx context.Context, name string, data []byte) error {
	far, err := l.Up(ctx)
	if err != nil {
		return err
	}
	return far.WriteFile(ctx, name, data)
}

// Self is the path of the agent on the machine.
func (l Lasting) Self(ctx context.Context) (string, error) {
	far, err := l.Up(ctx)
	if err != nil {
		return "", err
	}
	return far.Self(ctx)
}

// Clock is the state of the machine's clock.
func (l Lasting) Clock(ctx context.Context) (platform.Clock, error) {
	far, err := l.Up(ctx)
	if err != nil {
		return platform.Clock{}, err
	}
	return far.Clock(ctx)
}

// Offset is how far the machine's clock is ahead of this process's.
func (l Lasting) Offset(ctx context.Context) (offset, uncertainty time.Duration, err error) {
	far, err := l.Up(ctx)
	if err != nil {
		return 0, 0, err
	}
	return far.Offset(ctx)
}

// Space is the room in a file system of the machine.
func (l Lasting) Space(ctx context.Context, dir string) (platform.Space, error) {
	far, err := l.Up(ctx)
	if err != nil {
		return platform.Space{}, err
	}
	return far.Space(ctx, dir)
}

// Dial connects from the machine to what it can reach.
func (l Lasting) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	far, err := l.Up(ctx)
	if err != nil {
		return nil, err
	}
	return far.Dial(ctx, network, address)
}

// Confinable says what the machine lacks for a confinement.
func (l Lasting) Confinable(ctx context.Context, c platform.Confinement) error {
	far, err := l.Up(ctx)
	if err != nil {
		return err
	}
	return far.Confinable(ctx, c)
}
