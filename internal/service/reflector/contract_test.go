package reflector

import (
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service/servicetest"
)

func TestContract(t *testing.T) {
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	servicetest.Run(t, Kind(), servicetest.Options{
		Settings:   []parameter.Settings{nil, {"threads": "2"}},
		Machine:    p.Machine(),
		Unobserved: []string{"address"},
	})
}
