package proxmox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// server is an API that answers as it is told, over TLS.
func server(t *testing.T, answers map[string]http.HandlerFunc) Account {
	t.Helper()
	mux := http.NewServeMux()
	for path, answer := range answers {
		mux.HandleFunc("/api2/json"+path, answer)
	}
	s := httptest.NewTLSServer(mux)
	t.Cleanup(s.Close)
	sum := sha256.Sum256(s.Certificate().Raw)
	return Account{Host: s.Listener.Addr().String(), User: "root@pam", Password: "geheim", Fingerprint: fingerprint(sum)}
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

const ticket = `{"data":{"ticket":"T","CSRFPreventionToken":"C","username":"root@pam"}}`

func TestSecretsGoWhereTheyBelong(t *testing.T) {
	var seen []string
	a := server(t, map[string]http.HandlerFunc{
		"/access/ticket": func(w http.ResponseWriter, r *http.Request) {
			if r.FormValue("username") != "root@pam" || r.FormValue("password") != "geheim" || r.URL.RawQuery != "" {
				t.Errorf("logs in by %v", r.Form)
			}
			fmt.Fprint(w, ticket)
		},
		"/": func(w http.ResponseWriter, r *http.Request) {
			cookie, _ := r.Cookie("PVEAuthCookie")
			got := r.Method + " " + r.Header.Get("Authorization") + r.Header.Get("CSRFPreventionToken")
			if cookie != nil {
				got += " " + cookie.Value
			}
			seen = append(seen, got)
			fmt.Fprint(w, `{"data":[]}`)
		},
	})
	c, err := Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Resources(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.SetNotes(t.Context(), "pve1", Notes{Text: "x"}); err != nil {
		t.Error(err)
	}
	a.User, a.Password, a.Token = "root@pam!x", "", "secret"
	other, err := Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := other.Resources(t.Context()); err != nil {
		t.Error(err)
	}
	want := "GET  T|PUT C T|GET PVEAPIToken=root@pam!x=secret"
	if got := strings.Join(seen, "|"); got != want {
		t.Errorf("the server saw %q, want %q", got, want)
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		says   string
	}{
		"a page":     {says("<html>maintenance</html>"), "no JSON of Proxmox VE"},
		"no data":    {says(`{"data":null}`), "no data"},
		"other data": {says(`{"data":{"type":"node"}}`), "unexpected answer"},
		"half": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"data":[{"type":`)
		}, "truncated answer"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://192.0.2.1/elsewhere", http.StatusFound)
		}, "Found (status 302)"},
		"a proxy": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) }, "Bad Gateway (status 502)"},
	} {
		c, err := Open(t.Context(), server(t, map[string]http.HandlerFunc{"/access/ticket": says(ticket), "/cluster/resources": tc.answer}))
		if err != nil {
			t.Fatal(err)
		}
		if list, err := c.Resources(t.Context()); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, %v, want %q", name, list, err, tc.says)
		}
		c.Close()
	}
	if _, err := Open(t.Context(), server(t, map[string]http.HandlerFunc{"/access/ticket": says(`{"data":{"username":"root@pam"}}`)})); err == nil || !strings.Contains(err.Error(), "no ticket") {
		t.Errorf("no ticket: %v", err)
	}
}

func TestASlowServerIsNotWaitedForLongerThanWanted(t *testing.T) {
	stop := make(chan struct{})
	c, err := Open(t.Context(), server(t, map[string]http.HandlerFunc{
		"/access/ticket": says(ticket), "/cluster/resources": func(http.ResponseWriter, *http.Request) { <-stop },
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Resources(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	close(stop)
}

// A rule is a group before Proxmox VE 9.
func TestGroupsAreRules(t *testing.T) {
	c, err := Open(t.Context(), server(t, map[string]http.HandlerFunc{
		"/access/ticket":        says(ticket),
		"/cluster/ha/rules":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotImplemented) },
		"/cluster/ha/groups":    says(`{"data":[{"group":"ssd","nodes":"pve1:2,pve2","restricted":1},{"group":"empty","nodes":"pve1"}]}`),
		"/cluster/ha/resources": says(`{"data":[{"sid":"vm:100","group":"ssd"},{"sid":"vm:101"},{"sid":"ct:7","group":"ssd"}]}`),
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	rules, err := c.Rules(t.Context())
	want := Rule{Name: "ssd", Type: "node-affinity", Nodes: "pve1:2,pve2", Resources: "vm:100,ct:7", Strict: 1}
	if err != nil || len(rules) != 1 || rules[0] != want {
		t.Errorf("%+v, %v", rules, err)
	}
}

// The state of a task that cannot be read for a moment is asked for again.
func TestTasksSurviveFailedLooks(t *testing.T) {
	looks := 0
	c, err := Open(t.Context(), server(t, map[string]http.HandlerFunc{
		"/access/ticket": says(ticket),
		"/nodes/pve1/tasks/": func(w http.ResponseWriter, _ *http.Request) {
			if looks++; looks == 1 {
				http.Error(w, "", http.StatusBadGateway)
				return
			}
			fmt.Fprint(w, `{"data":{"status":"stopped","exitstatus":"WARNINGS: 1"}}`)
		},
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	u, err := ParseUPID("UPID:pve1:00001F2A:0009C1E2:65A5A5A5:qmigrate:100:root@pam:")
	if err == nil {
		err = c.Await(t.Context(), u)
	}
	if err != nil || looks != 2 {
		t.Errorf("%v after %d looks", err, looks)
	}
}
