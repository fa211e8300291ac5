package causes

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"plimsoll/bench/causes/scene"
)

// database is a PostgreSQL with the tables of pgbench.
type database struct {
	scale    int      // of pgbench
	fill     int      // percent of a page that its rows take at first; all of it where 0
	settings []string // such as "max_wal_size=32MB"
	dir      string   // of its data; in the scene's folder where empty
	in       scene.Command
}

// postgresql starts it and returns its port.
func postgresql(s *scene.Scene, d database) (port string, p *scene.Process, err error) {
	free, err := scene.Port()
	if err != nil {
		return "", nil, err
	}
	port = fmt.Sprint(free)
	dir := d.dir
	if dir == "" {
		dir = s.Path("postgresql")
	}
	if err := s.Kept.Copy(s, fmt.Sprint("postgresql-", d.scale, "-", d.fill), dir, func(dir string) error { return tables(s, d, port, dir) }); err != nil {
		return "", nil, err
	}
	if err := scene.Forget(dir); err != nil {
		return "", nil, err
	}
	if d.in.Argv, err = postgres(dir, port, d.settings...); err != nil {
		return "", nil, err
	}
	d.in.Ends = syscall.SIGQUIT // without a last checkpoint
	p, err = s.Server(d.in, "127.0.0.1:"+port)
	if err != nil {
		return "", nil, err
	}
	return port, p, accepting(s, port)
}

// postgres is the command of a server that keeps its files in a folder, as the folder's user.
func postgres(dir, port string, settings ...string) ([]string, error) {
	prefix, err := scene.Own(dir)
	if err != nil {
		return nil, err
	}
	argv := append(prefix, "postgres", "-D", filepath.Join(dir, "data"), "-h", "127.0.0.1", "-p", port, "-k", dir)
	for _, setting := range settings {
		argv = append(argv, "-c", setting)
	}
	return argv, nil
}

func accepting(s *scene.Scene, port string) error {
	return s.Wait("PostgreSQL accepts sessions", func() bool {
		_, err := psql(s, port, "select 1")
		return err == nil
	})
}

// psql runs a statement.
func psql(s *scene.Scene, port, statement string) (string, error) {
	return s.Run("psql", "-h", "127.0.0.1", "-p", port, "-U", "postgres", "-d", "postgres", "-Xqc", statement)
}

// tables makes a folder with the tables of pgbench, by a server of its own.
func tables(s *scene.Scene, d database, port, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	prefix, err := scene.Own(dir)
	if err != nil {
		return err
	}
	if _, err := s.Run(append(prefix, "initdb", "--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-D", filepath.Join(dir, "data"))...); err != nil {
		return err
	}
	argv, err := postgres(dir, port, "fsync=off", "max_wal_size=4GB")
	if err != nil {
		return err
	}
	p, err := s.Server(scene.Command{Argv: argv}, "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	if err := accepting(s, port); err != nil {
		return err
	}
	if _, err := s.Run("pgbench", "-i", "-q", "-s", fmt.Sprint(d.scale), "-F", fmt.Sprint(cmp.Or(d.fill, 100)), "-h", "127.0.0.1", "-p", port, "-U", "postgres", "postgres"); err != nil {
		return err
	}
	return p.End()
}

// pgbench starts sessions on a PostgreSQL, with a script where one is given.
func pgbench(s *scene.Scene, target, script string, more ...string) (*scene.Meter, error) {
	host, port, _ := strings.Cut(target, ":")
	argv := []string{"pgbench", "-n", "-P", "1", "-T", "600", "-h", host, "-p", port, "-U", "postgres"}
	if script != "" {
		if err := os.WriteFile(s.Path("script.sql"), []byte(script), 0o644); err != nil {
			return nil, err
		}
		argv = append(argv, "-f", s.Path("script.sql"))
	}
	return scene.Figures(s.Start(scene.Command{Argv: append(append(argv, more...), "postgres"), Reads: scene.Pgbench}))
}
