package postgres

import (
	"context"
	"net"
	"sync"

	"plimsoll/internal/load"
	"plimsoll/internal/wire"
)

// Places are where the servers of a service listen: one, or several that are alike, to
// which dial connects.
func Places(at load.Endpoint, dial func(context.Context, load.Endpoint) (net.Conn, error)) ([]Place, error) {
	connect := func(ctx context.Context, network, address string) (net.Conn, error) {
		return dial(ctx, load.Endpoint{Network: network, Address: address})
	}
	var all []Place
	for _, address := range append([]string{at.Address}, at.More...) {
		one := at
		one.Address = address
		p, err := wire.At(one)
		if err != nil {
			return nil, err
		}
		p.Connect = connect
		all = append(all, p)
	}
	return all, nil
}

// atOnce is how many servers are spoken to at the same time.
const atOnce = 4

// Each does something for each place, some at once. The first error ends all; the number
// is that of the place.
func Each(ctx context.Context, places []Place, do func(ctx context.Context, number int, at Place) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	free := make(chan struct{}, atOnce)
	var under sync.WaitGroup
	for number, at := range places {
		free <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		under.Go(func() {
			if err := do(ctx, number, at); err != nil {
				cancel(err)
			}
			<-free
		})
	}
	under.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}
