package nginx

import (
	"context"
	"io"
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
)

// served are the requests of one of several servers, from its status page.
func served(t *testing.T, dir, number string) float64 {
	t.Helper()
	text, err := os.ReadFile(path.Join(dir, number, configName))
	if err != nil {
		t.Fatal(err)
	}
	where := regexp.MustCompile(`listen (\S+);\s+location = (\S+) \{ stub_status`).FindSubmatch(text)
	if where == nil {
		t.Fatalf("no status page in\n%s", text)
	}
	answer, err := http.Get("http://" + string(where[1]) + string(where[2]))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	counts, err := parseStatus(string(body))
	if err != nil {
		t.Fatal(err)
	}
	return counts["nginx.requests"]
}

// pause is the think time of a user, or that between two looks.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Servers at one port come and go under load: connections follow, and hardly any request fails.
func TestRealServersAtOnePort(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start the real nginx")
	}
	env := service.Env{Machine: here(t), Dir: t.TempDir() + "/nginx", Seed: 1, Log: t.Logf}
	s, err := Kind().New(parameter.Settings{"instances": "2", "network": "shared"})
	if err != nil {
		t.Fatal(err)
	}
	instance, err := s.Start(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	e, err := instance.Endpoint("http")
	if err != nil || len(e.More) > 0 {
		t.Fatalf("the servers are at %+v, %v", e, err)
	}
	scaler := instance.(service.Scaler)
	if err := scaler.Scale(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	var asked, failed atomic.Int64
	var users sync.WaitGroup
	for range 8 {
		users.Go(func() {
			client := http.Client{Transport: &http.Transport{}}
			for ctx.Err() == nil {
				answer, err := client.Get("http://" + e.Address + "/")
				asked.Add(1)
				if err != nil {
					failed.Add(1)
					t.Log(err)
					continue
				}
				if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK {
					failed.Add(1)
				}
				answer.Body.Close()
				pause(ctx, 5*time.Millisecond)
			}
		})
	}
	for range 2 {
		if err := scaler.Scale(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		before := []float64{served(t, env.Dir, "0"), served(t, env.Dir, "1")}
		for deadline := time.Now().Add(20 * time.Second); served(t, env.Dir, "1") < before[1]+20 || served(t, env.Dir, "0") < before[0]+20; {
			if time.Now().After(deadline) {
				t.Fatalf("since %v the servers have served %g and %g requests", before, served(t, env.Dir, "0"), served(t, env.Dir, "1"))
			}
			pause(t.Context(), 50*time.Millisecond)
		}
		if err := scaler.Scale(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if died := instance.(service.FailureReporter).Died(); died != nil {
			t.Errorf("a server that left counts as dead: %v", died)
		}
	}
	end()
	users.Wait()
	if asked.Load() < 100 || failed.Load()*50 > asked.Load() {
		t.Errorf("%d of %d requests failed", failed.Load(), asked.Load())
	}
	t.Logf("%d of %d requests failed", failed.Load(), asked.Load())
	if observed, err := instance.Observed(t.Context()); err != nil || observed["instances"] != "1" || observed["network"] != "shared" {
		t.Errorf("observed %v, %v", observed, err)
	}
	if err := instance.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(env.Dir); !os.IsNotExist(err) {
		t.Errorf("the folder: %v", err)
	}
}

// A certificate belongs to one server, so that servers at one port have none.
func TestNoTLSAtOnePort(t *testing.T) {
	_, err := Kind().New(parameter.Settings{"network": "shared", "tls": "true"})
	if err == nil || !strings.Contains(err.Error(), "without TLS") {
		t.Errorf("got %v", err)
	}
}
