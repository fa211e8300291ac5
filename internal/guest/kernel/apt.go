package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// pack is apt's description of a package.
type pack struct {
	name, version string
	depends       []string // name of the first alternative of each dependency
}

// closure is the package of a kernel's image, and the names of all packages to download.
type closure struct {
	image pack
	names []string
}

func needApt() error {
	for _, program := range []string{"apt-get", "apt-cache", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("fetch a kernel: %s is not installed: specify a kernel with --kernel and --modules", program)
		}
	}
	return nil
}

// show queries apt for the candidate version of a package.
func show(ctx context.Context, name string) (pack, error) {
	if strings.HasPrefix(name, "-") {
		return pack{}, fmt.Errorf("%q is not a package name", name)
	}
	text, err := output(ctx, "", "apt-cache", "show", "--no-all-versions", name)
	if err != nil {
		return pack{}, fmt.Errorf("look up package %s (does \"apt-get update\" help?): %w", name, err)
	}
	p := parse(text)
	if p.name != name || p.version == "" {
		return pack{}, fmt.Errorf("package %s: unknown to apt", name)
	}
	return p, nil
}

// parse reads the first paragraph of a list of packages.
func parse(text []byte) pack {
	var p pack
	paragraph, _, _ := bytes.Cut(text, []byte("\n\n"))
	for line := range strings.Lines(string(paragraph)) {
		field, value, found := strings.Cut(strings.TrimSpace(line), ":")
		if !found || strings.HasPrefix(line, " ") {
			continue
		}
		value = strings.TrimSpace(value)
		switch field {
		case "Package":
			p.name = value
		case "Version":
			p.version = value
		case "Depends", "Pre-Depends":
			for _, one := range strings.Split(value, ",") {
				if words := strings.Fields(strings.ReplaceAll(one, "(", " (")); len(words) > 0 {
					p.depends = append(p.depends, words[0])
				}
			}
		}
	}
	return p
}

// resolve follows the dependencies of a package to images and modules of kernels.
func resolve(ctx context.Context, name string) (closure, error) {
	var c closure
	const most = 16 // packages; a kernel needs three
	for todo := []string{name}; len(todo) > 0; todo = todo[1:] {
		if slices.Contains(c.names, todo[0]) {
			continue
		}
		p, err := show(ctx, todo[0])
		if err != nil {
			return closure{}, err
		}
		c.names = append(c.names, p.name)
		leaf := true
		for _, d := range p.depends {
			image := strings.HasPrefix(d, "linux-image-")
			if image || strings.HasPrefix(d, "linux-modules-") {
				todo = append(todo, d)
			}
			leaf = leaf && !image
		}
		if leaf && strings.HasPrefix(p.name, "linux-image-") {
			c.image = p
		}
		if len(c.names) > most {
			return closure{}, fmt.Errorf("package %s requires more than %d packages: specify the kernel's own package", name, most)
		}
	}
	if c.image.name == "" || strings.ContainsAny(c.image.name+c.image.version, "/ \t") {
		return closure{}, fmt.Errorf("package %s does not depend on linux-image-*", name)
	}
	return c, nil
}

// download downloads packages and unpacks them below room/root.
func download(ctx context.Context, room string, names []string) error {
	if _, err := output(ctx, room, "apt-get", append([]string{"-q", "download"}, names...)...); err != nil {
		return fmt.Errorf("download %s (does \"apt-get update\" help?): %w", strings.Join(names, " "), err)
	}
	files, err := filepath.Glob(filepath.Join(room, "*.deb"))
	if err != nil {
		return err
	}
	if len(files) != len(names) {
		return fmt.Errorf("download %s: apt downloaded %d packages", strings.Join(names, " "), len(files))
	}
	for _, file := range files {
		if _, err := output(ctx, room, "dpkg-deb", "-x", file, filepath.Join(room, "root")); err != nil {
			return fmt.Errorf("unpack %s: %w", filepath.Base(file), err)
		}
	}
	return nil
}

// output runs a program in a folder; the error contains the last line of its standard error.
func output(ctx context.Context, dir, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	// It is killed when this program ends, by the parent-death signal of the thread.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err := cmd.Run()
	if err == nil {
		return out.Bytes(), nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	for line := range strings.Lines(complaints.String()) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), "E: "); found {
			err = errors.New(text)
		}
	}
	return nil, fmt.Errorf("%s: %w", program, err)
}
