package vsphere_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/methods"

	"plimsoll/internal/vsphere/disturbance"
	"plimsoll/internal/vsphere/session"
	"plimsoll/internal/vsphere/vspheretest"
)

func TestACallThatIsNeverAnsweredIsGivenUp(t *testing.T) {
	t.Parallel()
	p := vspheretest.Start(t, 1, 0).Proxy(t)
	s, err := session.Open(t.Context(), p.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	p.Disturb(func(method string) disturbance.Kind {
		if method == "CurrentTime" {
			return disturbance.Hang
		}
		return disturbance.None
	})
	s.Limit = 50 * time.Millisecond
	_, err = methods.GetCurrentTime(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "did not answer within 50ms") || session.Permanent(err) || t.Context().Err() != nil {
		t.Errorf("error %v", err)
	}
	s.Limit = time.Minute
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
