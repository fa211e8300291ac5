package nginx

import (
	"os"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service/servicetest"
)

func here(t *testing.T) platform.Machine {
	t.Helper()
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p.Machine()
}

func TestRealContract(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start the real nginx")
	}
	servicetest.Run(t, Kind(), servicetest.Options{
		Machine:    here(t),
		Unobserved: []string{"address", "ca", "connections"},
		Settings: []parameter.Settings{
			nil,
			{"workers": "3", "keepalive_requests": "77", "tls": "true", "http2": "true", "pages": "4", "page_size": "64KiB", "images": "3"},
			{"tls": "true", "images": "0", "page_size": "1KiB"},
			{"http2": "true", "keepalive_requests": "10000"},
		},
	})
}
