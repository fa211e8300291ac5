package keyvalue

import (
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/workload/workloadtest"
)

func TestTrace(t *testing.T) {
	workloadtest.Traced(t, Kind(), parameter.Settings{"tick": "1ms", "keys": "100", "connections": "4"}, responding(t, nil).env())
}
