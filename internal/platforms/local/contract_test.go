package local

import (
	"testing"

	"plimsoll/internal/platforms/platformtest"
)

func TestContract(t *testing.T) { platformtest.Run(t, Kind(), platformtest.Options{}) }
