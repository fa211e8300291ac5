package imported

import (
	"testing"

	"plimsoll/internal/effort"
)

func TestMain(m *testing.M) {
	effort.CollectSeldom()
	m.Run()
}
