// Package postgresql is the service of a PostgreSQL server: a private instance, or a server
// that you provide.
package postgresql

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/postgres"
	"plimsoll/internal/service"
	"plimsoll/internal/wire"
)

// Protocol is the protocol of the service.
const protocol = "postgresql"

// Kind is the service's entry in the catalog.
func Kind() service.Kind {
	return service.Define(service.Kind{
		Candidates: candidates(),
		Needs:      "PostgreSQL",
		Name:       "postgresql",
		Doc:        "PostgreSQL, started for the study, or a server you provide",
		Speaks:     []string{protocol},
		Metrics:    metrics(),
		Ratios:     ratios(),
		Release:    releaseSegment,
		Events:     events,
	}, defaults(), build)
}

func build(s Settings) (service.Service, error) {
	if s.MinWALSize > s.MaxWALSize {
		return nil, fmt.Errorf("min_wal_size %s is more than max_wal_size %s", s.MinWALSize, s.MaxWALSize)
	}
	at, err := s.Existing(s, defaults(), superuser, "postgres")
	switch {
	case err != nil:
		return nil, err
	case at == nil:
		return private{s}, nil
	}
	at.Program = "postgres"
	at.Version = func(ctx context.Context, m platform.Machine, at load.Endpoint) (string, error) {
		return newClient(m, at).version(ctx)
	}
	at.Live = func(m platform.Machine, at load.Endpoint) service.Live { return newClient(m, at).live() }
	return at, nil
}

const superuser = "postgres"

// program is searched in PATH and in the distributions' folders, which may contain several
// versions.
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

// Check finds the program, and checks that the host has the memory for the buffers.
func (p private) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	return p.settings.private().Check(ctx, env)
}

// Start creates a database cluster and starts the server on a free port.
func (p private) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	return p.settings.private().Start(ctx, env)
}

// private is for one start: its attempts share a folder in memory.
func (s Settings) private() service.Private {
	memory, noted := service.MemoryFolder()
	return service.Private{
		Program: "postgres", Ports: 1,
		Find: func(ctx context.Context, m platform.Machine) (service.Found, error) { return program().Find(ctx, m) },
		Fits: func(ctx context.Context, m platform.Machine) error {
			return service.HasMemory(ctx, m, "shared_buffers", s.SharedBuffers)
		},
		Needs: service.Needs{Disk: int64(s.MaxWALSize) + 64<<20, Time: 3 * time.Second},
		Daemon: func(_ context.Context, env service.Env, found service.Found, place service.Location) (service.Daemon, error) {
			if place.Root {
				return service.Daemon{}, fmt.Errorf("PostgreSQL refuses to run as root, and user nobody cannot access %s: use a results folder that all users can access (--out)", path.Dir(place.Dir))
			}
			vouched, err := service.NewServerCertificate(s.TLS, place.Host)
			if err != nil {
				return service.Daemon{}, err
			}
			c := newClient(env.Machine, load.Endpoint{Network: "tcp", Address: place.Address(0), CA: vouched.CA, User: superuser, Database: "postgres"})
			return service.Daemon{
				Argv:     []string{"sh", "-c", starter, "postgres", place.Dir, found.Name, path.Join(path.Dir(found.Name), "initdb"), superuser, memory},
				Files:    service.Join(noted, vouched.Files(), service.Files("postgresql.conf", s.config(found, place)), service.Files("pg_hba.conf", s.rules())),
				Patience: making,
				Ready:    func(ctx context.Context) (service.Live, error) { return c.ready(ctx, path.Join(place.Dir, "data")) },
			}, nil
		},
	}
}

// making is the time limit of initdb and server start: less than a second as a rule, and a
// minute in an emulated guest on a busy host.
const making = 3 * time.Minute

// starter runs initdb and executes the server. Its output matters only if it fails. The key of
// a certificate must be readable by the server alone. Dynamic shared memory is in files of a
// folder in memory whose name is known after the server was killed. The servers that initdb
// runs would use POSIX shared memory, which cannot be found after they are killed. Before
// version 16 initdb has no option against that, but it uses its sample configuration.
const starter = `
rm -rf -- "$1/data" "$1/share" "$1/own.key" "$5" &&
{ [ ! -f "$1/server.key" ] || (umask 077 && cat -- "$1/server.key" > "$1/own.key") } || exit 1
share=$("$3" --show -D "$1/data" 2>&1)
share=${share#*share_path=}
share=${share%%
*}
if [ -f "$share/postgresql.conf.sample" ]; then
	mkdir -- "$1/share" || exit 1
	for file in "$share"/*; do
		[ "${file##*/}" = postgresql.conf.sample ] || ln -s -- "$file" "$1/share/${file##*/}" || exit 1
	done
	{ cat -- "$share/postgresql.conf.sample" && echo "dynamic_shared_memory_type = mmap"; } > "$1/share/postgresql.conf.sample" || exit 1
	share=$1/share
else
	share=
fi
said=$("$3" -D "$1/data" ${share:+-L "$share"} -U "$4" -A trust -E UTF8 --locale=C --no-sync --no-clean --no-instructions 2>&1) || { printf '%s\n' "$said" >&2; exit 1; }
rm -rf -- "$1/share"
if mkdir -m 700 -- "$5" 2>/dev/null; then
	rmdir -- "$1/data/pg_dynshmem" && ln -s -- "$5" "$1/data/pg_dynshmem" || exit 1
fi
exec "$2" -D "$1/data" -c config_file="$1/postgresql.conf" -c hba_file="$1/pg_hba.conf"
`

// client sends one query at a time.
type client struct{ service.Client }

func newClient(m platform.Machine, at load.Endpoint) client {
	return client{service.Client{Machine: m, Endpoint: at, Begin: service.Beginning(wire.At, postgres.On)}}
}

// ready also verifies that it is our server: another one may have taken the port.
func (c client) ready(ctx context.Context, data string) (service.Live, error) {
	rows, err := c.Ask(ctx, "SHOW data_directory; SHOW server_version_num")
	if err != nil {
		return service.Live{}, err
	}
	if len(rows) != 2 || rows[0][0] != data {
		return service.Live{}, errors.New("another server answers on its port")
	}
	return c.live(), nil
}

func (c client) live() service.Live {
	return service.Live{Endpoints: map[string]load.Endpoint{protocol: c.Endpoint}, Observe: c.observe, Count: c.count, Unsettled: c.unsettled}
}

// version is the version of the server; empty if it is hidden.
func (c client) version(ctx context.Context) (string, error) {
	said, err := c.Value(ctx, "SHOW server_version")
	version, _, _ := strings.Cut(said, " ")
	return version, err
}
