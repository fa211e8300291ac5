package sim

import (
	"testing"

	"plimsoll/internal/platform/platformtest"
)

func TestContract(t *testing.T) { platformtest.Run(t, Kind(), platformtest.Options{}) }
