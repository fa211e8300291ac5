package inventory

import (
	"flag"
	"testing"

	"plimsoll/internal/effort"
)

func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait for simulators
		panic(err)
	}
	effort.CollectSeldom()
	m.Run()
}
