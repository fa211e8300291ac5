package network

import (
	"testing"
	"time"

	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service/reflector"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

func TestContractOfStreams(t *testing.T) {
	t.Parallel()
	at, _ := reflecting(t, reflector.Options{})
	workloadtest.Run(t, Kind(), workloadtest.Options{
		Settings: []parameter.Settings{
			{"test": "tcp_stream", "flows": "2"},
			{"test": "udp_stream", "rate": "5000/s"},
		},
		Env:     func(*testing.T) workload.Env { return to(at) },
		Length:  loadtest.Short(200 * time.Millisecond),
		Untimed: true,
	})
}
