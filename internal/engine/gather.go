package engine

import "context"

// Gather asks something of a database at each server, some at once, and returns the answers
// in the order of the servers. The first error ends all.
func Gather[T any](ctx context.Context, servers []Server, database string, ask func(ctx context.Context, s Conn) (T, error)) ([]T, error) {
	answers := make([]T, len(servers))
	err := Each(ctx, servers, func(ctx context.Context, number int, at Server) error {
		s, err := Dial(ctx, at, database)
		if err != nil {
			return err
		}
		defer s.Close()
		answers[number], err = ask(ctx, s)
		return err
	})
	return answers, err
}
