package causes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"plimsoll/bench/causes/scene"
)

// database is a PostgreSQL with the tables of pgbench.
type database struct {
	scale    int      // of pgbench
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
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	prefix, err := scene.Own(dir)
	if err != nil {
		return "", nil, err
	}
	data := filepath.Join(dir, "data")
	if _, err := s.Run(append(prefix, "initdb", "--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "-D", data)...); err != nil {
		return "", nil, err
	}
	argv := append(prefix, "postgres", "-D", data, "-h", "127.0.0.1", "-p", port, "-k", dir)
	if d.scale > 0 {
		if err := tables(s, d.scale, port, append(argv, "-c", "fsync=off", "-c", "max_wal_size=4GB")); err != nil {
			return "", nil, err
		}
		if err := scene.Forget(dir); err != nil {
			return "", nil, err
		}
	}
	for _, setting := range d.settings {
		argv = append(argv, "-c", setting)
	}
	d.in.Argv = argv
	p, err = s.Server(d.in, "127.0.0.1:"+port)
	if err != nil {
		return "", nil, err
	}
	return port, p, accepting(s, port)
}

func accepting(s *scene.Scene, port string) error {
	return s.Wait("PostgreSQL accepts sessions", func() bool {
		_, err := s.Run("psql", "-h", "127.0.0.1", "-p", port, "-U", "postgres", "-d", "postgres", "-Xqc", "select 1")
		return err == nil
	})
}

// tables has a server of its own make those of pgbench.
func tables(s *scene.Scene, scale int, port string, argv []string) error {
	p, err := s.Server(scene.Command{Argv: argv}, "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	if err := accepting(s, port); err != nil {
		return err
	}
	if _, err := s.Run("pgbench", "-i", "-q", "-s", fmt.Sprint(scale), "-h", "127.0.0.1", "-p", port, "-U", "postgres", "postgres"); err != nil {
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
	p, err := s.Start(scene.Command{Argv: append(append(argv, more...), "postgres"), Reads: scene.Pgbench})
	if err != nil {
		return nil, err
	}
	return p.Meter, nil
}

// fio starts fio with one job on a file or device.
func fio(s *scene.Scene, in scene.Command, more ...string) (*scene.Meter, error) {
	in.Argv = append([]string{"fio", "--minimal", "--status-interval=1", "--name=job", "--time_based", "--runtime=600", "--group_reporting", "--thread"}, more...)
	in.Reads = scene.Fio()
	p, err := s.Start(in)
	if err != nil {
		return nil, err
	}
	return p.Meter, nil
}
