package wire

import (
	"context"
	"net"
	"sync"

	"plimsoll/internal/load"
)

// Targets are the servers of a service: one, or several that are alike, to which dial
// connects.
func Targets(at load.Endpoint, dial func(context.Context, load.Endpoint) (net.Conn, error)) ([]Target, error) {
	connect := func(ctx context.Context, network, address string) (net.Conn, error) {
		return dial(ctx, load.Endpoint{Network: network, Address: address})
	}
	var all []Target
	for _, address := range append([]string{at.Address}, at.More...) {
		one := at
		one.Address = address
		t, err := At(one)
		if err != nil {
			return nil, err
		}
		t.Connect = connect
		all = append(all, t)
	}
	return all, nil
}

// atOnce is how many servers are spoken to at the same time.
const atOnce = 4

// Each does something for each of several servers, some at once. The first error ends all;
// the number is that of the server.
func Each[T any](ctx context.Context, servers []T, do func(ctx context.Context, number int, at T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	free := make(chan struct{}, atOnce)
	var under sync.WaitGroup
	for number, at := range servers {
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
