package postgres

import (
	"context"
	"errors"
	"net"
	"sync"

	"plimsoll/internal/load"
)

// Places are where the servers of a service listen: one, or several that are alike, to
// which dial connects.
func Places(at load.Endpoint, dial func(context.Context, load.Endpoint) (net.Conn, error)) ([]Place, error) {
	if at.Network != "tcp" && at.Network != "unix" {
		return nil, errors.New("a database is spoken to over TCP or a unix socket")
	}
	connect := func(ctx context.Context, network, address string) (net.Conn, error) {
		return dial(ctx, load.Endpoint{Network: network, Address: address})
	}
	var all []Place
	for _, address := range append([]string{at.Address}, at.More...) {
		one := at
		one.Address = address
		secure, err := one.Secure()
		if err != nil {
			return nil, err
		}
		all = append(all, Place{Network: at.Network, Address: address, User: at.User, Database: at.Database, Secret: at.Secret, TLS: secure, Connect: connect})
	}
	return all, nil
}

// Further are the addresses of all places but the first.
func Further(places []Place) []string {
	var more []string
	for _, p := range places[1:] {
		more = append(more, p.Address)
	}
	return more
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
