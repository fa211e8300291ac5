package keyvalue

import (
	"testing"
	"time"

	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/workloadtest"
)

func TestContract(t *testing.T) {
	s := responding(t, nil)
	workloadtest.Run(t, Kind(), workloadtest.Options{
		Settings: []parameter.Settings{
			{"keys": "1000", "connections": "4"},
			{"protocol": "memcached", "keys": "1000", "law": "zipf", "value": "64B/90:4KiB/10", "connections": "4", "pipeline": "8"},
			{"rate": "3000/s", "arrivals": "poisson", "tick": "1ms", "keys": "1000", "read": "100%"},
			{"keys": "100", "read": "0%", "fill": "false", "think": "2ms", "threads": "2", "connections": "8"},
		},
		Env:    func(*testing.T) workload.Env { return s.env() },
		Length: loadtest.Short(160 * time.Millisecond),
	})
}
