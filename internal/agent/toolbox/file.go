package toolbox

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func cat(c *Call) error {
	_, names, err := c.options(nil, nil)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		_, err := io.Copy(c.Stdout, c.Stdin)
		return err
	}
	var all error
	for _, name := range names {
		f, err := os.Open(name)
		if err == nil {
			_, err = io.Copy(c.Stdout, f)
			f.Close()
		}
		all = errors.Join(all, plain(err))
	}
	return all
}

func tee(c *Call) error {
	_, names, err := c.options(nil, nil)
	if err != nil {
		return err
	}
	to := []io.Writer{c.Stdout}
	var all error
	for _, name := range names {
		f, err := os.Create(name)
		if err != nil {
			all = errors.Join(all, plain(err))
			continue
		}
		defer f.Close()
		to = append(to, f)
	}
	_, err = io.Copy(io.MultiWriter(to...), c.Stdin)
	return errors.Join(all, plain(err))
}

// install copies a file, or standard input as /dev/stdin, with a mode.
func install(c *Call) error {
	set, names, err := c.options(nil, []string{"-m"})
	if err != nil {
		return err
	}
	mode, err := strconv.ParseUint(cmp.Or(set["-m"], "755"), 8, 9)
	if err != nil || len(names) != 2 {
		return refused("usage: install [-m MODE] FILE DESTINATION")
	}
	from := c.Stdin
	if names[0] != "/dev/stdin" {
		f, err := os.Open(names[0])
		if err != nil {
			return plain(err)
		}
		defer f.Close()
		from = f
	}
	if err := os.Remove(names[1]); err != nil && !errors.Is(err, fs.ErrNotExist) { // it may be a program that runs
		return plain(err)
	}
	to, err := os.OpenFile(names[1], os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return plain(err)
	}
	_, err = io.Copy(to, from)
	return plain(errors.Join(err, to.Chmod(fs.FileMode(mode)), to.Close()))
}

func ls(c *Call) error {
	_, names, err := c.options(nil, nil)
	if err != nil {
		return err
	}
	if len(names) != 1 {
		return refused("usage: ls FOLDER")
	}
	entries, err := os.ReadDir(names[0])
	if err != nil {
		return refused("%v", plain(err)) // exit status 2, as in ls
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			fmt.Fprintln(c.Stdout, e.Name())
		}
	}
	return nil
}

func mkdir(c *Call) error {
	set, names, err := c.options([]string{"-p"}, []string{"-m"})
	if err != nil {
		return err
	}
	mode, chosen := set["-m"]
	bits, err := strconv.ParseUint(mode, 8, 9)
	_, parents := set["-p"]
	if chosen && (err != nil || parents) {
		return refused("usage: mkdir -m 755 NAME")
	}
	return each(names, func(name string) error {
		if parents {
			return os.MkdirAll(name, 0o755)
		}
		if err := os.Mkdir(name, 0o755); err != nil || !chosen {
			return err
		}
		return os.Chmod(name, fs.FileMode(bits)) // regardless of the umask
	})
}

func rmdir(c *Call) error {
	set, names, err := c.options([]string{"--ignore-fail-on-non-empty"}, nil)
	if err != nil {
		return err
	}
	_, lenient := set["--ignore-fail-on-non-empty"]
	return each(names, func(name string) error {
		err := syscall.Rmdir(name)
		if err != nil && !(lenient && (err == syscall.ENOTEMPTY || err == syscall.EEXIST)) {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

func rm(c *Call) error {
	set, names, err := c.options([]string{"-f", "-r", "-rf"}, nil)
	if err != nil {
		return err
	}
	_, force := set["-f"]
	_, tree := set["-r"]
	_, both := set["-rf"]
	return each(names, func(name string) error {
		if clean := filepath.Clean(name); clean == "/" || clean == "." || clean == ".." {
			return refused("it does not remove %s", name)
		}
		if tree || both {
			return os.RemoveAll(name)
		}
		info, err := os.Lstat(name)
		if err == nil && info.IsDir() {
			return fmt.Errorf("%s: %w", name, syscall.EISDIR)
		}
		if err == nil {
			err = os.Remove(name)
		}
		if force && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

func truncate(c *Call) error {
	set, names, err := c.options(nil, []string{"--size", "-s"})
	if err != nil {
		return err
	}
	size, err := strconv.ParseInt(set["--size"]+set["-s"], 10, 64)
	if err != nil || size < 0 {
		return refused("missing or invalid --size, such as --size=4096")
	}
	return each(names, func(name string) error {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		return errors.Join(f.Truncate(size), f.Close())
	})
}

// each applies a function to all names, and continues after a failure.
func each(names []string, do func(name string) error) error {
	if len(names) == 0 {
		return refused("a name is required")
	}
	var all error
	for _, name := range names {
		err := do(name)
		var r refusal
		if errors.As(err, &r) {
			return err
		}
		all = errors.Join(all, plain(err))
	}
	return all
}

// plain strips the name of the system call from an error.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return err
}
