// Package postgresql is the service of a PostgreSQL server: a private instance, or
// one that already runs.
package postgresql

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/postgres"
	"plimsoll/internal/service"
)

// Protocol is what the service speaks.
const protocol = "postgresql"

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Name:    "postgresql",
		Doc:     "a private PostgreSQL server, or one that already runs",
		Speaks:  []string{protocol},
		Metrics: metrics(),
	}, defaults(), build)
}

func build(s Settings) (service.Service, error) {
	if s.MinWALSize > s.MaxWALSize {
		return nil, fmt.Errorf("min_wal_size %s is more than max_wal_size %s", s.MinWALSize, s.MaxWALSize)
	}
	if s.Address == "" {
		for name, value := range map[string]string{"user": s.User, "database": s.Database, "password": s.Password} {
			if value != "" {
				return nil, fmt.Errorf("%s is for a server that already runs: give its address as well, or leave it out", name)
			}
		}
		return &private{s}, nil
	}
	e, err := service.ParseAddress(s.Address)
	if err != nil {
		return nil, err
	}
	if err := service.Free(s, defaults(), "user", "password", "database"); err != nil {
		return nil, err
	}
	if s.Password != "" && !strings.HasPrefix(s.Password, "env:") && !strings.HasPrefix(s.Password, "file:") {
		return nil, errors.New("password: give a reference, env:NAME or file:PATH, not the password itself")
	}
	e.User, e.Database, e.Secret = s.User, s.Database, s.Password
	if e.User == "" {
		e.User = superuser
	}
	if e.Database == "" {
		e.Database = "postgres"
	}
	return &foreign{client{endpoint: e}}, nil
}

const superuser = "postgres"

// program is looked for in the PATH and where distributions keep the servers of one
// or more versions apart.
func program() service.Program {
	names := []string{"postgres"}
	for version := 20; version >= 13; version-- {
		names = append(names, fmt.Sprintf("/usr/lib/postgresql/%d/bin/postgres", version), fmt.Sprintf("/usr/pgsql-%d/bin/postgres", version))
	}
	return service.Program{
		Names: names, Version: []string{"--version"},
		Install: "apt install postgresql (or dnf install postgresql-server)",
	}
}

// private is a server that plimsoll starts.
type private struct{ settings Settings }

// Check looks for the program, and whether the memory of the host bears the buffers.
func (p *private) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	found, err := program().Find(ctx, env.Machine)
	if err != nil {
		return service.Needs{}, err
	}
	if memory := memory(ctx, env); memory > 0 && p.settings.SharedBuffers > memory/4*3 {
		return service.Needs{}, fmt.Errorf("shared_buffers %s is more than three quarters of the memory of this host, %s: lower it", p.settings.SharedBuffers, memory)
	}
	return service.Needs{
		Disk: int64(p.settings.MaxWALSize) + 64<<20, Time: 3 * time.Second,
		Versions: map[string]string{"postgres": found.Version},
	}, nil
}

// memory is that of the machine; 0 where it does not tell.
func memory(ctx context.Context, env service.Env) parameter.Bytes {
	data, err := env.Machine.ReadFile(ctx, "/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "MemTotal:" {
			n, _ := strconv.ParseInt(f[1], 10, 64) // 0 where it is none
			return parameter.Bytes(n << 10)
		}
	}
	return 0
}

// Start makes a cluster of databases and starts the server on a free port.
func (p *private) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	found, err := program().Find(ctx, env.Machine)
	if err != nil {
		return nil, err
	}
	return service.Started(service.Launch(ctx, env, service.Recipe{
		Name: "postgres", Ports: 1, Ordinary: true,
		Daemon: func(place service.Place) (service.Daemon, error) {
			if place.Root {
				return service.Daemon{}, fmt.Errorf("PostgreSQL refuses to run as root, and nobody cannot reach %s: choose a folder for the results that all may enter (--out)", path.Dir(place.Dir))
			}
			data := path.Join(place.Dir, "data")
			c := client{env.Machine, load.Endpoint{Network: "tcp", Address: place.Address(0), User: superuser, Database: "postgres"}}
			return service.Daemon{
				Argv: []string{"sh", "-c", starter, "postgres", place.Dir, found.Name, path.Join(path.Dir(found.Name), "initdb"), superuser},
				Files: func(yield func(string, []byte) bool) {
					_ = yield("postgresql.conf", p.settings.config(found, place)) &&
						yield("pg_hba.conf", []byte("host all all samenet trust\n"))
				},
				Patience: making,
				Ready:    func(ctx context.Context) (service.Live, error) { return c.ready(ctx, data) },
			}, nil
		},
	}))
}

// making is how long it may take until the databases are made and the server answers:
// less than a second as a rule, and a minute on a busy host that interprets a guest.
const making = 3 * time.Minute

// starter makes the databases and becomes the server. What it says in between is of
// no interest unless it fails.
const starter = `
rm -rf -- "$1/data" &&
said=$("$3" -D "$1/data" -U "$4" -A trust -E UTF8 --locale=C --no-sync --no-instructions 2>&1) || { printf '%s\n' "$said" >&2; exit 1; }
exec "$2" -D "$1/data" -c config_file="$1/postgresql.conf" -c hba_file="$1/pg_hba.conf"
`

// ready also looks that it is our server that answers: another one may have
// taken the port.
func (c client) ready(ctx context.Context, data string) (service.Live, error) {
	rows, err := c.ask(ctx, "SHOW data_directory; SHOW server_version_num")
	if err != nil {
		return service.Live{}, err
	}
	if len(rows) != 2 || rows[0][0] != data {
		return service.Live{}, errors.New("another server answers on its port")
	}
	return c.live(), nil
}

func (c client) live() service.Live {
	return service.Live{Endpoints: map[string]load.Endpoint{protocol: c.endpoint}, Observe: c.observe, Count: c.count}
}

// foreign is a server that already runs.
type foreign struct{ client client }

// from is a client that asks from the machine.
func (f *foreign) from(env service.Env) client { return client{env.Machine, f.client.endpoint} }

// Check asks the server for its version.
func (f *foreign) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	rows, err := f.from(env).ask(ctx, "SHOW server_version")
	if err != nil {
		return service.Needs{}, err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return service.Needs{}, fmt.Errorf("what listens at %s does not tell its version", f.client.endpoint.Address)
	}
	version, _, _ := strings.Cut(rows[0][0], " ")
	return service.Needs{Versions: map[string]string{"postgres": version}}, nil
}

// Start looks that the server answers.
func (f *foreign) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	if _, err := f.Check(ctx, env); err != nil {
		return nil, err
	}
	c := f.from(env)
	live := c.live()
	live.Observe = func(ctx context.Context) (map[string]string, error) {
		observed, err := c.observe(ctx)
		if err == nil {
			observed["address"] = f.client.endpoint.Address
		}
		return observed, err
	}
	return service.Use(live), nil
}

// client asks a server a question at a time, each in a session of its own.
type client struct {
	machine  platform.Machine // from which it is asked
	endpoint load.Endpoint
}

func (c client) ask(ctx context.Context, sql string) ([][]string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	secret, err := postgres.Secret(c.endpoint.Secret)
	if err != nil {
		return nil, err
	}
	conn, err := service.Dial(ctx, c.machine, c.endpoint)
	if err != nil {
		return nil, err
	}
	session, err := postgres.Open(ctx, conn, postgres.Account{User: c.endpoint.User, Database: c.endpoint.Database, Password: secret})
	if err != nil {
		return nil, fmt.Errorf("ask the server at %s: %w", c.endpoint.Address, err)
	}
	defer session.Close()
	rows, err := session.Query(ctx, sql)
	if err != nil {
		return nil, fmt.Errorf("ask the server at %s: %w", c.endpoint.Address, err)
	}
	return rows, nil
}
