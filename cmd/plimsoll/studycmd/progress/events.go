package progress

import (
	"fmt"
	"os"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/events"
)

// stream opens where events go: standard error, or a file to which they are appended.
func (o Options) stream() (stream *events.Stream, done func() error, err error) {
	switch o.Events {
	case "":
		return nil, func() error { return nil }, nil
	case ToScreen:
		stream = events.NewStream(o.Screen.Err, o.Version)
		return stream, func() error { return nil }, nil // whoever closed it was told what to do by that
	}
	file, err := os.OpenFile(o.Events, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, nil, cli.Mistake(fmt.Errorf("open the file of events: %w", err))
	}
	stream = events.NewStream(file, o.Version)
	return stream, func() error {
		lost, closed := stream.Err(), file.Close()
		if lost == nil {
			lost = closed
		}
		if lost != nil {
			return fmt.Errorf("write events: %w", lost)
		}
		return nil
	}, nil
}
