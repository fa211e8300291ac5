package desktop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/platform"
)

// program is a program that operations start.
type program struct {
	key    string
	names  []string // under which it may be there, in order of preference
	beside []string // files in the folder of the program itself that it needs
	debian string   // packages
	fedora string
}

// programs are those of all profiles.
func programs() []program {
	return []program{
		{"office", []string{"soffice", "libreoffice"}, []string{"libswlo.so", "libsclo.so"}, "libreoffice-writer-nogui libreoffice-calc-nogui", "libreoffice-writer libreoffice-calc"},
		{"browser", []string{"chromium", "chromium-browser", "google-chrome"}, nil, "chromium", "chromium"},
		{"archiver", []string{"7z", "7za", "7zz"}, nil, "p7zip-full", "p7zip-plugins"},
		{"viewer", []string{"pdftoppm"}, nil, "poppler-utils", "poppler-utils"},
		{"writer", []string{"dd"}, nil, "coreutils", "coreutils"},
	}
}

// find has a machine say where programs are, or refuses, with all packages that are missing in one line.
func find(ctx context.Context, m platform.Machine, needed []program) (paths map[string]string, err error) {
	paths = map[string]string{}
	var lacks, debian, fedora []string
	for _, p := range needed {
		at, err := locate(ctx, m, p)
		switch {
		case err != nil:
			return nil, err
		case at == "":
			lacks, debian, fedora = append(lacks, p.names[0]), append(debian, p.debian), append(fedora, p.fedora)
		default:
			paths[p.key] = at
		}
	}
	if len(lacks) > 0 {
		return nil, fmt.Errorf("machine %s lacks %s: apt install %s (or dnf install %s), or choose a desktop.profile with fewer programs",
			m.Name(), strings.Join(lacks, ", "), strings.Join(debian, " "), strings.Join(fedora, " "))
	}
	return paths, nil
}

// script prints the path of the first of some programs that is there, once its links are followed.
const script = `for name; do at=$(command -v "$name") && readlink -f "$at" && exit; done; exit 7`

// locate is the path of a program on a machine; empty if it is not there whole.
func locate(ctx context.Context, m platform.Machine, p program) (string, error) {
	r, err := m.Run(ctx, platform.Command{Argv: append([]string{"sh", "-c", script, "sh"}, p.names...)})
	if err != nil {
		return "", fmt.Errorf("find %s on machine %s: %w", p.names[0], m.Name(), err)
	}
	at := string(bytes.TrimSpace(r.Stdout))
	if r.Exit != 0 || at == "" {
		return "", nil
	}
	for _, file := range p.beside {
		r, err := m.Run(ctx, platform.Command{Argv: []string{"test", "-e", path.Join(path.Dir(at), file)}})
		if err != nil {
			return "", fmt.Errorf("find %s on machine %s: %w", p.names[0], m.Name(), err)
		}
		if r.Exit != 0 {
			return "", nil
		}
	}
	return at, nil
}

// lookUp is where programs are on the machine of this process.
func lookUp(needed []program) (map[string]string, error) {
	paths := map[string]string{}
	for _, p := range needed {
		var err error
		for _, name := range p.names {
			if paths[p.key], err = exec.LookPath(name); err == nil {
				break
			}
		}
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", p.names[0], errors.Unwrap(err))
		}
	}
	return paths, nil
}

// asked is the command by which a program prints its version. LibreOffice would write to the home folder.
func asked(key, at string) []string {
	switch key {
	case "office":
		return []string{"env", "HOME=/dev/null", "XDG_CACHE_HOME=/dev/null", "XDG_CONFIG_HOME=/dev/null", "XDG_RUNTIME_DIR=/dev/null", at, "--version"}
	case "browser":
		return []string{at, "--version"}
	case "viewer":
		return []string{at, "-v"}
	case "archiver":
		return []string{at, "i"}
	}
	return nil
}

// versions asks programs for their versions, as far as they tell.
func versions(ctx context.Context, m platform.Machine, paths map[string]string) (map[string]string, error) {
	all := map[string]string{}
	for key, at := range paths {
		how := asked(key, at)
		if how == nil {
			continue
		}
		r, err := m.Run(ctx, platform.Command{Argv: how})
		if err != nil {
			return nil, fmt.Errorf("ask %s on machine %s for its version: %w", at, m.Name(), err)
		}
		lines := strings.Split(strings.TrimSpace(string(slices.Concat(r.Stdout, r.Stderr))), "\n")
		if r.Exit == 0 {
			all[path.Base(at)] = strings.TrimSpace(lines[0])
		}
	}
	return all, nil
}
