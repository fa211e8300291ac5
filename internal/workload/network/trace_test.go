package network

import (
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/service/reflector"
	"plimsoll/internal/workload/workloadtest"
)

func TestTrace(t *testing.T) {
	at, _ := reflecting(t, reflector.Options{})
	workloadtest.Traced(t, Kind(), parameter.Settings{"tick": "1ms"}, to(at))
}
