// Package mariadb is the service of a MariaDB server: a private instance, or a server that you
// provide.
package mariadb

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/mysql"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
	"plimsoll/internal/wire"
)

// protocol is the protocol of the service.
const protocol = "mysql"

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Candidates: candidates(),
		Needs:      "MariaDB",
		Name:       "mariadb",
		Doc:        "MariaDB, started for the study, or a server you provide",
		Speaks:     []string{protocol},
		Metrics:    metrics(),
		Ratios:     ratios(),
	}, defaults(), build)
}

func build(s Settings) (service.Service, error) {
	at, err := s.Existing(s, defaults(), superuser, "")
	switch {
	case err != nil:
		return nil, err
	case at == nil && s.SyncBinlog > 0 && !s.LogBin:
		return nil, errors.New("sync_binlog requires log_bin")
	case at == nil:
		return s.private(), nil
	}
	at.Program = "mariadbd"
	at.Version = func(ctx context.Context, m platform.Machine, at load.Endpoint) (string, error) {
		return newClient(m, at).wary().version(ctx)
	}
	at.Live = func(m platform.Machine, at load.Endpoint) service.Live { return newClient(m, at).live() }
	return at, nil
}

const superuser = "root"

func program() service.Program {
	return service.Program{
		Names: []string{"mariadbd", "/usr/libexec/mariadbd", "mysqld"}, Version: []string{"--version"},
		Install: "apt install mariadb-server (or dnf install mariadb-server)",
	}
}

// find finds the server. MySQL by Oracle is refused, as it starts differently.
func find(ctx context.Context, m platform.Machine) (service.Found, error) {
	found, err := program().Find(ctx, m)
	if err == nil && !strings.Contains(found.Said, "MariaDB") {
		return found, fmt.Errorf("%s is not MariaDB: %s; start it yourself and set address", found.Name, found.Said)
	}
	return found, err
}

// private is a server that plimsoll starts.
func (s Settings) private() service.Private {
	return service.Private{
		Program: "mariadbd", Find: find, Ports: 1,
		Fits: func(ctx context.Context, m platform.Machine) error {
			return service.HasMemory(ctx, m, "innodb_buffer_pool_size", s.BufferPoolSize)
		},
		Needs: service.Needs{Disk: int64(s.LogFileSize) + 48<<20, Time: 3 * time.Second},
		Daemon: func(_ context.Context, env service.Env, found service.Found, place service.Location) (service.Daemon, error) {
			vouched, err := service.NewServerCertificate(s.TLS, place.Host)
			if err != nil {
				return service.Daemon{}, err
			}
			c := newClient(env.Machine, load.Endpoint{Network: "tcp", Address: place.Address(0), CA: vouched.CA, User: superuser})
			return service.Daemon{
				Argv:  []string{"sh", "-c", starter, "mariadb", place.Dir, found.Name},
				Files: service.Join(vouched.Files(), service.Files("mariadb.cnf", s.config(place))),
				Ready: func(ctx context.Context) (service.Live, error) { return c.ready(ctx, path.Join(place.Dir, "data")) },
			}, nil
		},
	}
}

// starter creates the system tables from the files of the package, as mariadb-install-db does,
// and executes the server. Any client that reaches the port has access. Without debug-gdb the
// server would ignore SIGINT; with it, it exits at once without a clean shutdown, and is not
// started again.
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

// client sends one query at a time.
type client struct{ service.Client }

func newClient(m platform.Machine, at load.Endpoint) client {
	return client{service.Client{Machine: m, Endpoint: at, Begin: service.Beginning(wire.At, mysql.On)}}
}

// ready also verifies that it is our server: another one may have taken the port.
func (c client) ready(ctx context.Context, data string) (service.Live, error) {
	rows, err := c.Ask(ctx, "SELECT @@datadir")
	if err != nil {
		return service.Live{}, err
	}
	if len(rows) != 1 || path.Clean(rows[0][0]) != data {
		return service.Live{}, errors.New("another server answers on its port")
	}
	return c.live(), nil
}

func (c client) live() service.Live {
	return service.Live{Endpoints: map[string]load.Endpoint{protocol: c.Endpoint}, Observe: c.observe, Count: c.count, Unsettled: c.unsettled}
}

// version is the version of the server; empty if it is hidden.
func (c client) version(ctx context.Context) (string, error) {
	said, err := c.Value(ctx, "SELECT version()")
	version, _, _ := strings.Cut(said, "-")
	return version, err
}
