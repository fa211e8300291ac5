package remote

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/platforms/platformtest"
)

// far is the local platform at the other end of a pipe.
type far struct {
	*Machine
	local  platform.Platform
	served chan error
	once   sync.Once
	err    error
}

type farPlatform struct{ f *far }

func (p farPlatform) Machine() platform.Machine { return p.f.Machine }

func (p farPlatform) Close() error {
	p.f.once.Do(func() {
		p.f.err = errors.Join(p.f.End(context.Background()), <-p.f.served, p.f.local.Close())
	})
	return p.f.err
}

func openFar(ctx context.Context, settings parameter.Settings, seed uint64) (platform.Platform, error) {
	l, err := local.Kind().Open(ctx, settings, seed)
	if err != nil {
		return nil, err
	}
	near, there := net.Pipe()
	f := &far{local: l, served: make(chan error, 1)}
	go func() { f.served <- Server{Machine: l.Machine()}.Serve(context.Background(), there) }()
	if f.Machine, err = Connect(ctx, near); err != nil {
		return nil, err
	}
	return farPlatform{f}, nil
}

func TestContract(t *testing.T) {
	platformtest.Run(t, platform.Kind{
		Name: "remote", Doc: "this machine, from afar", Defaults: local.Settings{}, Open: openFar,
	}, platformtest.Options{})
}
