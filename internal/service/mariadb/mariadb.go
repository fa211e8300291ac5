// Package mariadb is the service of a MariaDB server: a private instance, or one that
// already runs.
package mariadb

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/mysql"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// protocol is what the service speaks.
const protocol = "mysql"

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Name:    "mariadb",
		Doc:     "a private MariaDB server, or one that already runs",
		Speaks:  []string{protocol},
		Metrics: metrics(),
	}, defaults(), build)
}

func build(s Settings) (service.Service, error) {
	if s.Address == "" {
		for name, value := range map[string]string{"user": s.User, "database": s.Database, "password": s.Password} {
			if value != "" {
				return nil, fmt.Errorf("%s is for a server that already runs: give its address as well, or leave it out", name)
			}
		}
		if s.SyncBinlog > 0 && !s.LogBin {
			return nil, errors.New("sync_binlog is of no effect without a log of changes: set log_bin as well")
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
	return &foreign{client{endpoint: e}}, nil
}

const superuser = "root"

func program() service.Program {
	return service.Program{
		Names: []string{"mariadbd", "/usr/libexec/mariadbd", "mysqld"}, Version: []string{"--version"},
		Install: "apt install mariadb-server (or dnf install mariadb-server)",
	}
}

// find looks for the server. One by Oracle begins in another way.
func find(ctx context.Context, env service.Env) (service.Found, error) {
	found, err := program().Find(ctx, env.Machine)
	if err == nil && !strings.Contains(found.Said, "MariaDB") {
		return found, fmt.Errorf("%s is not MariaDB: %s; start it yourself and give its address", found.Name, found.Said)
	}
	return found, err
}

// private is a server that plimsoll starts.
type private struct{ settings Settings }

// Check looks for the program, and whether the memory of the host bears the buffers.
func (p *private) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	found, err := find(ctx, env)
	if err != nil {
		return service.Needs{}, err
	}
	if memory := memory(ctx, env); memory > 0 && p.settings.BufferPoolSize > memory/4*3 {
		return service.Needs{}, fmt.Errorf("innodb_buffer_pool_size %s is more than three quarters of the memory of this host, %s: lower it", p.settings.BufferPoolSize, memory)
	}
	return service.Needs{
		Disk: int64(p.settings.LogFileSize) + 48<<20, Time: 3 * time.Second,
		Versions: map[string]string{"mariadbd": found.Version},
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

// Start makes the server's own tables and starts it on a free port.
func (p *private) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	found, err := find(ctx, env)
	if err != nil {
		return nil, err
	}
	return service.Started(service.Launch(ctx, env, service.Recipe{
		Name: "mariadbd", Ports: 1, Ordinary: true,
		Daemon: func(place service.Place) (service.Daemon, error) {
			c := client{env.Machine, load.Endpoint{Network: "tcp", Address: place.Address(0), User: superuser}}
			return service.Daemon{
				Argv:  []string{"sh", "-c", starter, "mariadb", place.Dir, found.Name},
				Files: service.Files("mariadb.cnf", p.settings.config(place)),
				Ready: func(ctx context.Context) (service.Live, error) { return c.ready(ctx, path.Join(place.Dir, "data")) },
			}, nil
		},
	}))
}

// starter makes the server's own tables from the files of its package, as
// mariadb-install-db does, and becomes the server. Whoever reaches the port is let in.
// Without debug-gdb it would ignore the signal by which it is asked to stop; with it, it
// ends at once, and nobody will start it again.
const starter = `
for dir in /usr/share/mysql /usr/share/mariadb /usr/share/mysql-server; do
	for name in mariadb mysql; do
		[ -r "$dir/${name}_system_tables.sql" ] && files=$dir/$name
	done
done
[ -n "$files" ] || { echo "the files *_system_tables.sql of MariaDB's package lie neither in /usr/share/mysql nor in /usr/share/mariadb" >&2; exit 1; }
rm -rf -- "$1/data" && mkdir -p -- "$1/data" || exit 1
begun() { exec "$server" --defaults-file="$dir/mariadb.cnf" --datadir="$dir/data" --tmpdir="$dir" "$@"; }
dir=$1 server=$2
said=$({
	printf '%s\n' 'CREATE DATABASE IF NOT EXISTS mysql;' 'USE mysql;' 'SET @auth_root_socket = NULL;'
	cat "${files}_system_tables.sql" "${files}_performance_tables.sql" "${files}_system_tables_data.sql"
	printf '%s\n' "REPLACE INTO global_priv SELECT '%', User, Priv FROM global_priv WHERE Host = 'localhost' AND User = 'root';"
} | (begun --bootstrap --skip-log-bin --innodb-flush-log-at-trx-commit=0 --log-warnings=0 --max-allowed-packet=8M --enforce-storage-engine=) 2>&1) ||
	{ printf '%s\n' "$said" >&2; exit 1; }
begun --socket= --debug-gdb
`

// ready also looks that it is our server that answers: another one may have taken the
// port.
func (c client) ready(ctx context.Context, data string) (service.Live, error) {
	rows, err := c.ask(ctx, "SELECT @@datadir")
	if err != nil {
		return service.Live{}, err
	}
	if len(rows) != 1 || path.Clean(rows[0][0]) != data {
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
	rows, err := f.from(env).ask(ctx, "SELECT version()")
	if err != nil {
		return service.Needs{}, err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return service.Needs{}, fmt.Errorf("what listens at %s does not tell its version", f.client.endpoint.Address)
	}
	version, _, _ := strings.Cut(rows[0][0], "-")
	return service.Needs{Versions: map[string]string{"mariadbd": version}}, nil
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
	secret, err := mysql.Secret(c.endpoint.Secret)
	if err != nil {
		return nil, err
	}
	conn, err := service.Dial(ctx, c.machine, c.endpoint)
	if err != nil {
		return nil, err
	}
	session, err := mysql.Open(ctx, conn, mysql.Account{User: c.endpoint.User, Database: c.endpoint.Database, Password: secret})
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
