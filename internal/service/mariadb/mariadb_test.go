package mariadb

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

func TestSettingsThatMakeNoSense(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"sync_binlog": "1"}, "requires log_bin"},
		{parameter.Settings{"address": "a:1", "log_bin": "true"}, "log_bin cannot be set on a server you provide"},
		{parameter.Settings{"innodb_flush_log_at_trx_commit": "4"}, "innodb_flush_log_at_trx_commit"},
	} {
		if _, err := Kind().New(c.settings); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v", c.settings, err)
		}
	}
	if _, err := Kind().New(parameter.Settings{"address": "/run/mysqld/mysqld.sock", "user": "me", "password": "file:/p", "database": "d"}); err != nil {
		t.Error(err)
	}
}

func TestConfig(t *testing.T) {
	s := defaults()
	s.LogBin, s.SyncBinlog, s.Doublewrite = true, 1, false
	for _, root := range []bool{false, true} {
		text := string(s.config(service.Location{Host: "10.0.0.1", Dir: "/d", Ports: []int{3307}, Root: root}))
		for _, want := range []string{
			"[server]\n", "bind_address = 10.0.0.1\n", "port = 3307\n", "innodb_buffer_pool_size = 268435456\n", "innodb_doublewrite = OFF\n",
			"innodb_lock_wait_timeout = 50\n", "log_bin = binlog\n", "sync_binlog = 1\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("there is no %q in\n%s", want, text)
			}
		}
		if strings.Contains(text, "user = root\n") != root {
			t.Errorf("as root %v:\n%s", root, text)
		}
	}
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct {
		kind        parameter.Kind
		value, want string
	}{
		{parameter.KindBytes, "268435456", "256MiB"}, {parameter.KindSwitch, "ON", "true"}, {parameter.KindSwitch, "OFF", "false"}, {parameter.KindSwitch, "0", "false"},
		{parameter.KindDuration, "50", "50s"}, {parameter.KindText, "O_DIRECT", "O_DIRECT"},
	} {
		if got, err := canonical(c.kind, c.value); err != nil || got != c.want {
			t.Errorf("%s is %s, %v; not %s", c.value, got, err, c.want)
		}
	}
	for _, kind := range []parameter.Kind{parameter.KindBytes, parameter.KindDuration} {
		if got, err := canonical(kind, "lots"); err == nil {
			t.Errorf("lots is %s", got)
		}
	}
}

// Counters without all of their values are omitted.
func TestCounted(t *testing.T) {
	got := counted(map[string]float64{"handler_commit": 7, "innodb_buffer_pool_read_requests": 10, "innodb_buffer_pool_reads": 4, "handler_write": 1})
	if len(got) != 3 || got["mariadb.commits"] != 7 || got["mariadb.pages_hit"] != 6 || got["mariadb.pages_read"] != 4 {
		t.Errorf("got %v", got)
	}
}

// printing is a machine where a program prints its version.
type printing struct {
	platform.Machine
	program, version, memory string
}

func (p printing) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	if c.Argv[0] != p.program {
		return platform.Result{}, fs.ErrNotExist
	}
	return platform.Result{Stdout: []byte(p.version)}, nil
}

func (p printing) ReadFile(context.Context, string) ([]byte, error) {
	if p.memory == "" {
		return nil, errors.New("it does not tell")
	}
	return []byte("MemTotal: " + p.memory + " kB\n"), nil
}

func TestCheckNamesWhatIsLacking(t *testing.T) {
	const said = "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"
	for _, c := range []struct{ program, said, memory, want string }{
		{"none", said, "", "mariadbd is not installed on this host: apt install mariadb-server"},
		{"mariadbd", said, "", ""},
		{"/usr/libexec/mariadbd", said, "1048576", ""},
		{"/usr/sbin/mysqld", "mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)", "", "/usr/sbin/mysqld is not MariaDB"},
		{"mariadbd", said, "262144", "innodb_buffer_pool_size 256MiB is more than three quarters"},
	} {
		s, err := Kind().New(nil)
		if err != nil {
			t.Fatal(err)
		}
		needs, err := s.Check(t.Context(), service.Env{Machine: printing{program: c.program, version: c.said, memory: c.memory}})
		if c.want == "" && (err != nil || needs.Versions["mariadbd"] != "10.11.19") || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%+v: %+v, %v", c, needs, err)
		}
	}
}
