package provision

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"plimsoll/internal/guest/bundle"
)

// shellAt is the path of the shell that initdb calls in a guest.
const shellAt = "/usr/bin/sh"

// installation is the folders of a PostgreSQL package.
type installation struct{ programs, share, libraries string }

// installations are the paths of the distributions, the newest version first.
func installations() []installation {
	var all []installation
	for v := 20; v >= 13; v-- {
		all = append(all,
			installation{fmt.Sprintf("/usr/lib/postgresql/%d/bin", v), fmt.Sprintf("/usr/share/postgresql/%d", v), fmt.Sprintf("/usr/lib/postgresql/%d/lib", v)},
			installation{fmt.Sprintf("/usr/pgsql-%d/bin", v), fmt.Sprintf("/usr/pgsql-%d/share", v), fmt.Sprintf("/usr/pgsql-%d/lib", v)})
	}
	return append(all, installation{"/usr/bin", "/usr/share/pgsql", "/usr/lib64/pgsql"}, installation{"/usr/bin", "/usr/share/postgresql", "/usr/lib/postgresql"})
}

// database lists the files of this host's PostgreSQL server by their names in a guest; none if
// it is incomplete. An installation in PATH comes first, as it does for the service.
func database(all []installation, shell string) map[string]string {
	if at, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			for _, i := range all {
				if i.programs == filepath.Dir(real) {
					all = append([]installation{i}, all...)
					break
				}
			}
		}
	}
	for _, i := range all {
		if files, err := i.files(shell); err == nil {
			return files
		}
	}
	return nil
}

// files are the server and initdb, with a shell. The JIT compiler is omitted: it is larger
// than all the rest, and the server works without it.
func (i installation) files(shell string) (map[string]string, error) {
	files := map[string]string{}
	for _, name := range []string{
		filepath.Join(i.programs, "postgres"), filepath.Join(i.programs, "initdb"),
		filepath.Join(i.libraries, "plpgsql.so"), filepath.Join(i.libraries, "dict_snowball.so"), shell,
	} {
		found, err := bundle.Program(name)
		if err != nil {
			return nil, err
		}
		maps.Copy(files, found)
		if name == shell {
			files[shellAt] = found[name]
		}
	}
	if _, err := os.Stat(filepath.Join(i.share, "postgres.bki")); err != nil {
		return nil, err
	}
	err := filepath.WalkDir(i.share, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.Contains(name, "/extension/") && !strings.HasPrefix(d.Name(), "plpgsql") {
			return nil
		}
		if real, err := filepath.EvalSymlinks(name); err == nil { // some links are dangling
			if info, err := os.Stat(real); err == nil && info.Mode().IsRegular() {
				files[name] = real
			}
		}
		return nil
	})
	return files, err
}
