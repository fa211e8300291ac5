package classifier

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"plimsoll/internal/images"
	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

const (
	answering = 10 * time.Second
	longest   = 1 << 20 // bytes of an answer
)

// client asks a server about itself.
type client struct {
	machine platform.Machine // the machine that connects
	at      load.Endpoint
}

func (c client) live() service.Live {
	return service.Live{Endpoints: map[string]load.Endpoint{images.Protocol: c.at}, Observe: c.observe, Count: c.count}
}

func (c client) observe(ctx context.Context) (map[string]string, error) {
	var settings map[string]string
	return settings, c.ask(ctx, images.Settings, &settings)
}

func (c client) count(ctx context.Context) (map[string]float64, error) {
	var counters map[string]float64
	return counters, c.ask(ctx, images.Counts, &counters)
}

func (c client) ask(ctx context.Context, about images.Question, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answering)
	defer cancel()
	conn, err := service.Dial(ctx, c.machine, c.at)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	var line []byte
	if _, err = conn.Write(images.Hello{Ask: about}.Line()); err == nil {
		line, err = bufio.NewReader(io.LimitReader(conn, longest)).ReadBytes('\n')
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("query the classifier at %s: %w", c.at.Address, context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("the server at %s does not speak the protocol of a classifier: %w", c.at.Address, err)
	}
	if err := json.Unmarshal(line, into); err != nil {
		return fmt.Errorf("the server at %s does not speak the protocol of a classifier: it answers %q", c.at.Address, line[:min(len(line), 120)])
	}
	return nil
}

// version is what a server that already runs computes with.
func version(ctx context.Context, m platform.Machine, at load.Endpoint) (string, error) {
	settings, err := client{m, at}.observe(ctx)
	if err == nil && settings["engine"] == "" {
		err = fmt.Errorf("the server at %s is no classifier", at.Address)
	}
	return settings["engine"], err
}
