package nginx

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// fleet starts servers with a network of their own.
func fleet(t *testing.T, settings parameter.Settings) (service.Instance, service.Env) {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start the real nginx in network namespaces, as root")
	}
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	env := service.Env{Machine: here(t), Dir: t.TempDir() + "/nginx", Seed: 1, Log: t.Logf}
	s, err := Kind().New(settings)
	if err != nil {
		t.Fatal(err)
	}
	needs, err := s.Check(t.Context(), env)
	if err != nil && strings.Contains(err.Error(), "a mount point") {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(needs.Changes) != 1 || !strings.Contains(needs.Changes[0], "network namespaces") {
		t.Errorf("the changes are %q", needs.Changes)
	}
	instance, err := s.Start(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := instance.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return instance, env
}

// left lists the host's virtual interfaces and namespaces.
func left(t *testing.T, m platform.Machine) string {
	t.Helper()
	r, err := m.Run(t.Context(), platform.Command{Argv: []string{"sh", "-c", "ls /run/netns /sys/class/net | grep -E '^pl' || true"}})
	if err != nil {
		t.Fatal(err)
	}
	return string(r.Stdout)
}

func TestRealFleetInNamespaces(t *testing.T) {
	instance, env := fleet(t, parameter.Settings{"instances": "3", "network": "namespaces", "batching": "1ms"})
	for _, size := range []int{3, 6, 2} {
		if err := instance.(service.Scaler).Scale(t.Context(), size); err != nil {
			t.Fatal(err)
		}
		e, err := instance.Endpoint("http")
		if err != nil {
			t.Fatal(err)
		}
		all := append([]string{e.Address}, e.More...)
		if len(all) != size {
			t.Errorf("%d servers listen, want %d", len(all), size)
		}
		for _, address := range all {
			if !strings.HasPrefix(address, "198.18.") && !strings.HasPrefix(address, "198.19.") {
				t.Errorf("a server listens at %s", address)
			}
			answer, err := http.Get("http://" + address + "/")
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			_ = answer.Body.Close()
			if err != nil || answer.StatusCode != http.StatusOK || len(body) < 1000 {
				t.Errorf("%s answers %s with %d bytes, %v", address, answer.Status, len(body), err)
			}
		}
		if n := strings.Count(left(t, env.Machine), "plimsoll-"); n != size {
			t.Errorf("there are %d namespaces, want %d", n, size)
		}
	}
	observed, err := instance.Observed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"instances": "2", "network": "namespaces", "batching": "1ms", "workers": "1"} {
		if observed[name] != want {
			t.Errorf("%s is observed as %q, want %q", name, observed[name], want)
		}
	}
	counts, err := instance.Counters(t.Context())
	if err != nil || counts["nginx.requests"] < 4 {
		t.Errorf("the servers count %v, %v", counts, err)
	}
	if err := instance.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if rest := left(t, env.Machine); rest != "" {
		t.Errorf("left over: %q", rest)
	}
	if _, err := os.Stat(env.Dir); !os.IsNotExist(err) {
		t.Errorf("the folder: %v", err)
	}
}

// A crashed run leaves its namespaces, and the next run or a restore removes them.
func TestRealUnwire(t *testing.T) {
	_, env := fleet(t, parameter.Settings{"network": "namespaces"})
	other := env
	other.Dir = t.TempDir()
	if err := service.Unwire(t.Context(), other.Machine, other.Dir); err != nil {
		t.Fatal(err)
	}
	if left(t, env.Machine) == "" {
		t.Fatal("the namespaces of another run are gone")
	}
	for range 2 {
		if err := service.Unwire(t.Context(), env.Machine, env.Dir); err != nil {
			t.Fatal(err)
		}
		if rest := left(t, env.Machine); rest != "" {
			t.Errorf("left over: %q", rest)
		}
	}
}

// Without namespaces several servers share the loopback, each with its own port.
func TestRealFleetOnTheHost(t *testing.T) {
	instance, _ := fleetOnHost(t)
	e, err := instance.Endpoint("http")
	if err != nil {
		t.Fatal(err)
	}
	if len(e.More) != 2 || e.More[0] == e.Address || e.More[0] == e.More[1] {
		t.Errorf("they listen at %s and %q", e.Address, e.More)
	}
}

func fleetOnHost(t *testing.T) (service.Instance, service.Env) {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start the real nginx")
	}
	s, err := Kind().New(parameter.Settings{"instances": "3"})
	if err != nil {
		t.Fatal(err)
	}
	env := service.Env{Machine: here(t), Dir: t.TempDir() + "/nginx", Seed: 1, Log: t.Logf}
	instance, err := s.Start(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := instance.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return instance, env
}

func TestBatchingNeedsACable(t *testing.T) {
	if _, err := Kind().New(parameter.Settings{"batching": "1ms"}); err == nil || !strings.Contains(err.Error(), "needs network namespaces") {
		t.Errorf("the error is %v", err)
	}
	for name, value := range map[string]string{"instances": "0", "network": "cloud", "batching": "1s"} {
		if _, err := Kind().New(parameter.Settings{name: value}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s %s: the error is %v", name, value, err)
		}
	}
}
