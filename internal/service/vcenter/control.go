package vcenter

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// state is the status that the simulator process reports.
type state struct {
	Settings parameter.Settings `json:"settings"`
	Counters map[string]float64 `json:"counters"`
}

// control answers questions about the process, on a port of its own.
func control(s Settings) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		texts := s.texts()
		for _, name := range []string{"address", "user", "password", "cluster", "thumbprint", "ca"} {
			delete(texts, name)
		}
		now := state{Settings: texts, Counters: map[string]float64{"vcenter.cpu": load.ProcessCPU().Seconds()}}
		if resident, ok := residentSize(); ok {
			now.Counters["vcenter.memory"] = resident
		}
		_ = json.NewEncoder(w).Encode(now) // errors of a client that is gone are ignored
	})
}

// residentSize is the resident memory of this process, if the kernel reports it.
func residentSize() (float64, bool) {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0, false
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return float64(pages) * float64(os.Getpagesize()), err == nil
}

// ask queries the simulator process.
func ask(ctx context.Context, m platform.Machine, address string) (now state, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", nil)
	if err != nil {
		return now, fmt.Errorf("query the vCenter simulator: %w", err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		return service.Dial(ctx, m, load.Endpoint{Network: network, Address: address})
	}}}
	answer, err := client.Do(r)
	if err != nil {
		return now, fmt.Errorf("query the vCenter simulator: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(body, &now)
	}
	if err != nil {
		return now, fmt.Errorf("query the vCenter simulator: it answers %q: %w", body, err)
	}
	return now, nil
}
