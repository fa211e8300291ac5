package web

import (
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/workload/workloadtest"
)

func TestTrace(t *testing.T) {
	workloadtest.Traced(t, Kind(), parameter.Settings{"tick": "1ms", "connections": "4"}, served(t, false, nil).env())
}
