package vsphere_test

import (
	"testing"

	"plimsoll/internal/live"
	"plimsoll/internal/live/livetest"
	"plimsoll/internal/vsphere"
	"plimsoll/internal/vsphere/vspheretest"
)

func connect(t testing.TB, at live.Address) live.Connection {
	t.Helper()
	c, err := vsphere.Kind().Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConformance(t *testing.T) {
	vc := vspheretest.Start(t, 3, 2)
	livetest.Run(t, livetest.Subject{
		Open: func(t testing.TB) live.Connection { return connect(t, vc.Address(t)) },
		Limited: func(t testing.TB) live.Connection {
			at := vc.Address(t)
			at.User = "reader"
			return connect(t, at)
		},
	})
}
