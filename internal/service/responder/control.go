package responder

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"

	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// control serves queries about the process, on a port that is exempt from faults.
func control(s Settings, c *counts) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /settings", func(w http.ResponseWriter, _ *http.Request) { tell(w, s.texts()) })
	mux.HandleFunc("GET /counters", func(w http.ResponseWriter, _ *http.Request) {
		tell(w, map[string]float64{
			"responder.requests":    float64(c.requests.Load()),
			"responder.faults":      float64(c.faults.Load()),
			"responder.connections": float64(c.connections.Load()),
			"responder.cpu":         load.ProcessCPU().Seconds(),
		})
	})
	return mux
}

func tell(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // errors of a disconnected client are ignored
}

// controlClient is the client of control.
type controlClient struct {
	machine platform.Machine // the machine of the process
	address string
}

func (c controlClient) settings(ctx context.Context) (map[string]string, error) {
	var settings map[string]string
	return settings, c.ask(ctx, "/settings", &settings)
}

func (c controlClient) counters(ctx context.Context) (map[string]float64, error) {
	var counters map[string]float64
	return counters, c.ask(ctx, "/counters", &counters)
}

func (c controlClient) ask(ctx context.Context, path string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.address+path, nil)
	if err != nil {
		return fmt.Errorf("query the responder: %w", err)
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return service.Dial(ctx, c.machine, load.Endpoint{Network: network, Address: address})
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}}
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("query the responder: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("query the responder: %w", err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("query the responder: it answers %q: %w", body, err)
	}
	return nil
}
