package service

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service/ports"
)

// place is this machine, and a folder that does not exist.
func place(t *testing.T) Env {
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
	return Env{Machine: p.Machine(), Dir: filepath.Join(t.TempDir(), "above", "instance"), Log: t.Logf}
}

// script is a daemon that is a shell script, ready once the file "up" exists.
func script(env Env, text string) func(Location) (Daemon, error) {
	return func(Location) (Daemon, error) {
		return Daemon{
			Argv: []string{"sh", "-c", text}, Log: "log", Files: Files("sub/motto", []byte("fluctuat")),
			Ready: func(ctx context.Context) (Live, error) {
				_, err := env.Machine.ReadFile(ctx, filepath.Join(env.Dir, "up"))
				return Live{Endpoints: map[string]load.Endpoint{"morse": {Network: "tcp", Address: "here:1"}}}, err
			},
		}, nil
	}
}

func gone(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

func TestLaunchAndStop(t *testing.T) {
	env := place(t)
	r, err := launched(t.Context(), env, Recipe{Name: "it", Daemon: script(env, "grep -q fluctuat sub/motto && touch up; trap 'exit 0' INT; while :; do sleep 0.01; done")})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := r.Endpoint("morse"); err != nil || e.Address != "here:1" {
		t.Errorf("got %+v, %v", e, err)
	}
	if _, err := r.Endpoint("semaphore"); err == nil || !strings.Contains(err.Error(), "it speaks morse") {
		t.Errorf("got %v", err)
	}
	if o, err := r.Observed(t.Context()); o != nil || err != nil {
		t.Errorf("it tells %v, %v", o, err)
	}
	for range 2 {
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		gone(t, env.Dir)
	}
}

// A second Stop must not remove the folder of the next instance.
func TestStopTwiceHarmsNobody(t *testing.T) {
	env := place(t)
	recipe := Recipe{Name: "it", Daemon: script(env, "touch up; exec sleep 100")}
	first, err := launched(t.Context(), env, recipe)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, err := launched(t.Context(), env, recipe)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(env.Dir); err != nil {
		t.Error(err)
	}
	if err := second.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDeathTellsTheEndOfTheLog(t *testing.T) {
	for text, want := range map[string]string{
		"echo out; echo err >&2; echo file >log; exit 3": "it ended with status 3: out\nerr\nfile",
		"kill -9 $$": "it was ended by signal SIGKILL and logged nothing",
		"i=0; while [ $i -lt 99 ]; do i=$((i+1)); echo $i; done": "it ended with status 0: 90\n91\n92\n93\n94\n95\n96\n97\n98\n99",
	} {
		env := place(t)
		_, err := launched(t.Context(), env, Recipe{Name: "it", Daemon: script(env, text)})
		var died *DeathError
		if !errors.As(err, &died) || err.Error() != want {
			t.Errorf("%q gives %v", text, err)
		}
		gone(t, env.Dir)
	}
}

func TestATakenPortIsNoTrouble(t *testing.T) {
	t.Parallel()
	env := place(t)
	var tried []int
	taken := func(times int) Recipe {
		tried = nil
		return Recipe{Name: "it", Ports: 1, Daemon: func(p Location) (Daemon, error) {
			tried = append(tried, p.Ports[0])
			if len(tried) <= times {
				return script(env, "echo 'bind: Address already in use' >&2; exit 1")(p)
			}
			return script(env, "touch up; exec sleep 100")(p)
		}}
	}
	r, err := launched(t.Context(), env, taken(2))
	if err != nil {
		t.Fatal(err)
	}
	if len(tried) != 3 {
		t.Errorf("it tried %v", tried)
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := launched(t.Context(), env, taken(100)); err == nil || !strings.Contains(err.Error(), "was taken before") || len(tried) != attempts {
		t.Errorf("after %d attempts: %v", len(tried), err)
	}
	gone(t, env.Dir)
}

func TestPortsAreFreeAndDifferent(t *testing.T) {
	free, err := ports.Free(t.Context(), place(t).Machine, 20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, p := range free {
		if seen[p] {
			t.Errorf("port %d comes twice", p)
		}
		seen[p] = true
	}
	l, err := net.Listen("tcp", net.JoinHostPort(Loopback, strconv.Itoa(free[0])))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestACancelledStartLeavesNothing(t *testing.T) {
	env := place(t)
	ctx, cancel := context.WithCancel(t.Context())
	recipe := Recipe{Name: "it", Daemon: script(env, "trap '' INT; while :; do sleep 1; done")}
	ready := recipe.Daemon
	recipe.Daemon = func(p Location) (Daemon, error) {
		d, err := ready(p)
		d.Ready = func(context.Context) (Live, error) { cancel(); return Live{}, errors.New("not yet") }
		return d, err
	}
	if _, err := launched(ctx, env, recipe); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	gone(t, env.Dir)
	if _, err := launched(ctx, env, recipe); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	gone(t, env.Dir)
}

func TestOnlyOurFoldersAreRemoved(t *testing.T) {
	env := place(t)
	recipe := Recipe{Name: "it", Daemon: script(env, "touch up; exec sleep 100")}
	if err := os.MkdirAll(env.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := launched(t.Context(), env, recipe); err == nil || !strings.Contains(err.Error(), "File exists") {
		t.Errorf("in a folder of somebody else: %v", err)
	}
	for _, name := range []string{markFile, "old"} {
		if err := os.WriteFile(filepath.Join(env.Dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := launched(t.Context(), env, recipe)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(env.Dir, "old")); err == nil {
		t.Error("a file of an instance that died is in the folder of the next")
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for _, dir := range []string{"relative", "/", "//"} {
		if err := makeFolder(t.Context(), Env{Machine: env.Machine, Dir: dir}); err == nil || !strings.Contains(err.Error(), "absolute") {
			t.Errorf("folder %q: %v", dir, err)
		}
	}
}

func TestRealOrdinaryAccount(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("root alone can be another user")
	}
	for mode, want := range map[os.FileMode]string{0o755: "nobody", 0o700: "root"} {
		env := place(t)
		for dir := filepath.Dir(filepath.Dir(env.Dir)); dir != os.TempDir() && len(dir) > 1; dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, mode); err != nil {
				t.Fatal(err)
			}
		}
		root := false
		daemon := script(env, "id -un >who; touch up; exec sleep 100")
		r, err := launched(t.Context(), env, Recipe{Name: "it", Ordinary: true, Daemon: func(p Location) (Daemon, error) {
			root = p.Root
			return daemon(p)
		}})
		if err != nil {
			t.Fatal(err)
		}
		who, err := os.ReadFile(filepath.Join(env.Dir, "who"))
		if strings.TrimSpace(string(who)) != want || root != (want == "root") || err != nil {
			t.Errorf("below a folder of mode %o it runs as %q, %v", mode, who, err)
		}
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]load.Endpoint{
		"127.0.0.1:6379": {Network: "tcp", Address: "127.0.0.1:6379"}, "[::1]:80": {Network: "tcp", Address: "[::1]:80"},
		"web.example:http": {Network: "tcp", Address: "web.example:http"}, "/run/redis.sock": {Network: "unix", Address: "/run/redis.sock"},
	} {
		if got, err := ParseAddress(text); err != nil || got.Network != want.Network || got.Address != want.Address {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"localhost", ":80", "a:", "a:b:c", "a:99999", "a:nosuchport", ""} {
		if e, err := ParseAddress(text); err == nil {
			t.Errorf("%q is %+v", text, e)
		}
	}
	free, err := ports.Free(t.Context(), place(t).Machine, 1)
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{
		net.JoinHostPort(Loopback, strconv.Itoa(free[0])): "nothing listens at", "/nowhere/at/all.sock": "nothing listens at", "name.invalid:80": "does not resolve",
	} {
		e, err := ParseAddress(address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Dial(t.Context(), place(t).Machine, e); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", address, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Dial(ctx, nil, load.Endpoint{Network: "tcp", Address: net.JoinHostPort(Loopback, strconv.Itoa(free[0]))}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFreeSettings(t *testing.T) {
	type settings struct {
		Address string `name:"address" doc:"where"`
		Hz      int    `name:"hz" doc:"how often"`
		TLS     bool   `name:"tls" doc:"whether"`
	}
	for s, fine := range map[settings]bool{{Address: "x"}: true, {Address: "x", TLS: true}: true, {Address: "x", Hz: 1}: false} {
		if err := free(s, settings{}, []string{"tls"}); (err == nil) != fine {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// programs is a machine with programs that print their versions.
type programs struct {
	platform.Machine
	say map[string]platform.Result
}

func (p programs) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	r, ok := p.say[c.Argv[0]]
	if !ok {
		return r, fs.ErrNotExist
	}
	return r, ctx.Err()
}

func TestPrograms(t *testing.T) {
	p := Program{Names: []string{"red", "blue"}, Version: []string{"-v"}, Install: "apt install red"}
	says := func(text string) platform.Result { return platform.Result{Stderr: []byte(text)} }
	for name, c := range map[string]struct {
		say  map[string]platform.Result
		want Found
		err  string
	}{
		"first":      {map[string]platform.Result{"red": says("red 1.2.3 (x86 9.9)\n")}, Found{"red", "1.2.3", "red 1.2.3 (x86 9.9)"}, ""},
		"second":     {map[string]platform.Result{"blue": says("v=8.1")}, Found{"blue", "8.1", "v=8.1"}, ""},
		"other path": {map[string]platform.Result{"/usr/sbin/red": says("1.0")}, Found{"/usr/sbin/red", "1.0", "1.0"}, ""},
		"neither":    {nil, Found{}, "red is not installed on this host: apt install red"},
		"mute":       {map[string]platform.Result{"red": says("hello")}, Found{}, `red does not report its version: "hello"`},
		"broken":     {map[string]platform.Result{"red": {Exit: 1, Stderr: []byte("1.0")}}, Found{}, "red does not report its version"},
	} {
		got, err := p.Find(t.Context(), programs{say: c.say})
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.HasPrefix(err.Error(), c.err) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Find(ctx, programs{say: map[string]platform.Result{"red": says("1.0")}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for _, c := range []struct {
		have, want string
		yes        bool
	}{{"1.19.7", "1.19.7", true}, {"1.19.10", "1.19.7", true}, {"1.9.9", "1.19.7", false}, {"2.0", "1.19.7", true}, {"1.19", "1.19.7", false}, {"7.0.15", "6.2", true}} {
		if got := (Found{Version: c.have}).AtLeast(c.want); got != c.yes {
			t.Errorf("%s is at least %s: %v", c.have, c.want, got)
		}
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var l tail
	for range 300 {
		if n, err := l.Write(make([]byte, 1000)); n != 1000 || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := l.Write([]byte("end")); err != nil {
		t.Fatal(err)
	}
	if got := l.bytes(); !strings.HasSuffix(string(got), "end") || len(got) < keptOutput || len(got) > 2*keptOutput+3 {
		t.Errorf("it keeps %d bytes", len(got))
	}
}

// A running daemon that never responds times out.
func TestADaemonThatNeverAnswers(t *testing.T) {
	t.Parallel()
	env := place(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if _, err := launched(ctx, env, Recipe{Name: "it", Daemon: script(env, "exec sleep 100")}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	gone(t, env.Dir)
}

// narrow is a machine with a thousand ports for services.
type narrow struct{ platform.Machine }

func (narrow) ReadFile(_ context.Context, name string) ([]byte, error) {
	if name == "/proc/sys/net/ipv4/ip_local_port_range" {
		return []byte("11000 65535\n"), nil
	}
	return nil, fs.ErrNotExist
}

// No other port of the first server is the one that it shares, at which nothing listens yet.
func TestSharedPortIsTakenOnce(t *testing.T) {
	for shared := 10000; shared < 10010; shared++ {
		got, err := portsWith(t.Context(), Env{Machine: narrow{}, shared: shared}, 990) // nearly all that are free
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 990 || got[0] != shared || slices.Contains(got[1:], shared) {
			t.Errorf("%d ports, the first of which is %d, not %d alone", len(got), got[0], shared)
		}
	}
}
