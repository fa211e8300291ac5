package network

import (
	"bytes"
	"path"
	"strconv"
	"strings"

	"plimsoll/internal/hoststat/parse"
)

// serverLimit is where a known server sets how many connections it takes.
type serverLimit struct {
	program string
	option  string   // on the command line
	setting string   // in a file
	preset  float64  // built into the server; 0 if it depends
	files   []string // where it usually is; below the folder of the process for a relative name
}

// serverLimits lists known servers, with the presets of their manuals.
var serverLimits = []serverLimit{
	{"postgres", "max_connections=", "max_connections", 100, []string{"postgresql.conf", "postgresql.auto.conf"}},
	{"redis-server", "--maxclients", "maxclients", 10000, []string{"/etc/redis/redis.conf"}},
	{"valkey-server", "--maxclients", "maxclients", 10000, []string{"/etc/valkey/valkey.conf"}},
	{"nginx", "worker_connections", "worker_connections", 512, []string{"/etc/nginx/nginx.conf"}},
	{"mariadbd", "--max-connections", "max_connections", 151, []string{"/etc/mysql/my.cnf", "/etc/mysql/mariadb.conf.d/50-server.cnf", "/etc/my.cnf"}},
	{"mysqld", "--max-connections", "max_connections", 151, []string{"/etc/mysql/my.cnf", "/etc/mysql/mysql.conf.d/mysqld.cnf", "/etc/my.cnf"}},
	{"memcached", "-c", "-c", 1024, []string{"/etc/memcached.conf"}},
}

// limit finds how many connections the server behind a listening socket takes, once.
func (k *Reader) limit(l *Listener, processes []Process) {
	known := index(serverLimits, func(x *serverLimit) bool { return x.program == l.Program })
	if known == nil || l.PID == 0 {
		return
	}
	found, ok := k.limits[l.PID]
	if !ok {
		found = k.findLimit(known, l.PID)
		k.limits[l.PID] = found
	}
	l.Limit, l.Setting, l.Config = found.value, known.setting, found.where
	if known.program == "nginx" && l.Limit > 0 {
		workers := 0.
		for i := range processes {
			if p := &processes[i]; p.Name == "nginx" && (p.Parent == l.PID || p.PID == l.PID) {
				workers++
			}
		}
		l.Limit *= max(1, workers-1) // the master takes none
	}
}

// serverSetting is a limit and where it is set.
type serverSetting struct {
	value float64
	where string
}

func (k *Reader) findLimit(known *serverLimit, pid int) serverSetting {
	folder := "proc/" + strconv.Itoa(pid) + "/"
	text, err := k.file(folder + "cmdline")
	if err != nil {
		return serverSetting{}
	}
	arguments := strings.Split(strings.TrimRight(string(text), "\x00 "), "\x00")
	if value, ok := argument(arguments, known.option); ok {
		return serverSetting{value, "the command line"}
	}
	found := serverSetting{known.preset, ""}
	for _, name := range configFiles(known, arguments) {
		at := folder + "cwd/" + name
		if path.IsAbs(name) {
			at = folder + "root" + name
		}
		text, err := k.file(at)
		if err != nil {
			continue
		}
		if value, ok := setting(text, known.setting); ok {
			found = serverSetting{value, name}
		}
	}
	return found
}

// configFiles are the usual files, or those that the command line names.
func configFiles(known *serverLimit, arguments []string) []string {
	var named []string
	for i, a := range arguments {
		// A title of one argument, such as "nginx: master process nginx -c FILE", is split too.
		fields := strings.Fields(a)
		for j, f := range fields {
			next := ""
			switch {
			case j+1 < len(fields):
				next = fields[j+1]
			case i+1 < len(arguments):
				next = arguments[i+1]
			}
			switch {
			case f == "-c" && known.program == "nginx", f == "-D" && known.program == "postgres":
				if known.program == "postgres" {
					named = append(named, path.Join(next, "postgresql.conf"), path.Join(next, "postgresql.auto.conf"))
				} else {
					named = append(named, next)
				}
			case strings.HasSuffix(f, ".conf") && i > 0:
				named = append(named, f)
			case strings.HasPrefix(f, "--defaults-file="):
				named = append(named, strings.TrimPrefix(f, "--defaults-file="))
			}
		}
	}
	if len(named) > 0 {
		return named
	}
	return known.files
}

// argument finds the number of an option: "--name 5", "--name=5" or "name=5".
func argument(arguments []string, option string) (float64, bool) {
	bare := strings.TrimSuffix(option, "=")
	for i, a := range arguments {
		rest, found := strings.CutPrefix(strings.ReplaceAll(a, "_", "-"), strings.ReplaceAll(bare, "_", "-"))
		switch {
		case !found:
		case rest == "" && i+1 < len(arguments):
			return parse.Number([]byte(arguments[i+1]))
		default:
			return parse.Number([]byte(strings.TrimLeft(rest, "= ")))
		}
	}
	return 0, false
}

// setting finds the last value of a name in a file of settings.
func setting(text []byte, name string) (value float64, ok bool) {
	for line := range bytes.Lines(text) {
		for part := range bytes.SplitSeq(line, []byte{';'}) {
			part, _, _ = bytes.Cut(part, []byte{'#'})
			f := bytes.FieldsFunc(part, func(c rune) bool { return c == ' ' || c == '\t' || c == '=' || c == '{' || c == '\n' || c == '\r' })
			for i := 0; i+1 < len(f); i++ {
				key := strings.ReplaceAll(string(f[i]), "-", "_")
				if key != strings.ReplaceAll(name, "-", "_") {
					continue
				}
				if v, is := parse.Number(bytes.Trim(f[i+1], "'\"")); is {
					value, ok = v, true
				}
			}
		}
	}
	return value, ok
}
