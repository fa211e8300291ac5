package vsphere_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/disturbance"
	"plimsoll/internal/vsphere/session"
	"plimsoll/internal/vsphere/vspheretest"
)

func TestCertificatesAreVerified(t *testing.T) {
	t.Parallel()
	p := vspheretest.Start(t, 1, 0).Proxy(t)
	good := p.Address(t)
	print := good.Parameters["thumbprint"]
	junk := filepath.Join(t.TempDir(), "junk.pem")
	if err := os.WriteFile(junk, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := "00" + print[2:]
	if wrong == print {
		wrong = "01" + print[2:]
	}
	for name, c := range map[string]struct {
		parameters map[string]string
		want       string // of the error; empty for none
	}{
		"thumbprint":                 {map[string]string{"thumbprint": print}, ""},
		"thumbprint in small digits": {map[string]string{"thumbprint": strings.ToLower(strings.ReplaceAll(print, ":", ""))}, ""},
		"authority":                  {map[string]string{"ca": p.Authority(t)}, ""},
		"nothing":                    {nil, print},
		"another thumbprint":         {map[string]string{"thumbprint": wrong}, print},
		"SHA-1 thumbprint":           {map[string]string{"thumbprint": print[:59]}, "not a SHA-256 thumbprint"},
		"both":                       {map[string]string{"thumbprint": print, "ca": junk}, "remove one"},
		"no file":                    {map[string]string{"ca": junk + ".missing"}, "read the authorities"},
		"no certificate":             {map[string]string{"ca": junk}, "contains no certificate in PEM format"},
		"unknown parameter":          {map[string]string{"insecure": "yes"}, `unknown parameter "insecure"`},
	} {
		at := good
		at.Parameters = map[string]string{"password": good.Parameters["password"]}
		for k, v := range c.parameters {
			at.Parameters[k] = v
		}
		logins := p.Calls("Login")
		s, err := session.Open(t.Context(), at)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
		// What the vCenter shows is no mistake of the address.
		ofVCenter := c.want == print
		if mistake := (*live.Mistake)(nil); errors.As(err, &mistake) == ofVCenter {
			t.Errorf("%s: a mistake in the address: %t, want %t", name, ofVCenter, !ofVCenter)
		}
		if p.Calls("Login") != logins {
			t.Errorf("%s: the password was sent", name)
		}
	}
}

func TestBadLoginsAreExplained(t *testing.T) {
	vc := vspheretest.Start(t, 1, 0)
	good := vc.Address(t)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for name, c := range map[string]struct {
		change func(*live.Address)
		want   string
	}{
		"no user":        {func(a *live.Address) { a.User = "" }, "needs a user"},
		"no password":    {func(a *live.Address) { delete(a.Parameters, "password") }, "reference to the password"},
		"not set":        {func(a *live.Address) { a.Parameters["password"] = "env:NOT_SET_AT_ALL" }, "NOT_SET_AT_ALL is not set"},
		"empty password": {func(a *live.Address) { a.Parameters["password"] = "env:VCENTER_EMPTY" }, "VCENTER_EMPTY is empty"},
		"no server":      {func(a *live.Address) { a.Host = "127.0.0.1:1" }, "connect to vCenter 127.0.0.1:1: connection refused: check the host and the port"},
		"no name":        {func(a *live.Address) { a.Host = "no host" }, `"no host" must be a host`},
		"no TLS":         {func(a *live.Address) { a.Host = plain.Listener.Addr().String() }, "check the port, which must be that of HTTPS"},
		"a secret":       {func(a *live.Address) { a.Parameters["password"] = "secret-of-the-test" }, "must be a reference"},
	} {
		t.Setenv("VCENTER_EMPTY", "")
		at := good
		at.Parameters = map[string]string{}
		for k, v := range good.Parameters {
			at.Parameters[k] = v
		}
		c.change(&at)
		_, err := session.Open(t.Context(), at)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret-of-the-test") {
			t.Errorf("%s: error %v, want one with %q and without the password", name, err, c.want)
		}
	}
}

// clock makes the smallest call that needs a session.
func clock(ctx context.Context, s *session.Session) error {
	_, err := methods.CreateContainerView(ctx, s.Client(), &types.CreateContainerView{This: *s.Client().ServiceContent.ViewManager, Container: s.Client().ServiceContent.RootFolder})
	return err
}

func TestAnExpiredSessionIsRenewedOnce(t *testing.T) {
	vc := vspheretest.Start(t, 1, 0)
	p := vc.Proxy(t)
	at := p.Address(t)
	at.Parameters["password"] = "env:VCENTER_PASSWORD"
	t.Setenv("VCENTER_PASSWORD", "secret-of-the-test")
	s, err := session.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	if s.User() != "operator" {
		t.Errorf("logged in as %q", s.User())
	}
	vc.Expire(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := clock(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := p.Calls("Login"); n != 2 {
		t.Errorf("%d logins, want the first and one more", n)
	}
	t.Setenv("VCENTER_PASSWORD", "changed")
	vc.Expire(t)
	if err := clock(t.Context(), s); err == nil || !session.Permanent(err) {
		t.Errorf("after the password was revoked: %v, want a permanent error", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close without a session: %v", err)
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := vspheretest.Start(t, 1, 0).Proxy(t)
	s, err := session.Open(t.Context(), p.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	p.Disturb(func(method string) disturbance.Kind {
		if method == "CreateContainerView" {
			return disturbance.Hang
		}
		return disturbance.None
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := clock(ctx, s); !errors.Is(err, context.DeadlineExceeded) || session.Permanent(err) {
		t.Errorf("a call that is never answered gives %v", err)
	}
	for trouble := range map[disturbance.Kind]bool{disturbance.Refuse: true, disturbance.LoseReply: true, disturbance.Truncate: true, disturbance.Busy: true} {
		p.Disturb(func(method string) disturbance.Kind {
			if method == "CreateContainerView" {
				return trouble
			}
			return disturbance.None
		})
		if err := clock(t.Context(), s); err == nil || session.Permanent(err) {
			t.Errorf("trouble %s gives %v, want an error that may pass", trouble, err)
		}
	}
	p.Disturb(nil)
	if err := clock(t.Context(), s); err != nil {
		t.Errorf("after the trouble: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
