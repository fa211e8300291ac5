// Package bundle finds the dynamic loader and the libraries that a program of this machine
// needs in an empty guest, as the loader would.
package bundle

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Program lists the files that a program needs, itself included: names in the guest on the
// left, absolute paths of this machine with links resolved on the right. Libraries are
// searched as the loader does without a cache: in the program's run path, the folders of
// ld.so.conf, and the default ones.
func Program(name string) (map[string]string, error) {
	b := &bundle{files: map[string]string{}}
	var err error
	if b.folders, err = folders("/etc/ld.so.conf", 0); err != nil {
		return nil, fmt.Errorf("find the libraries of %s: %w", name, err)
	}
	b.folders = append(b.folders, "/lib64", "/usr/lib64", "/lib", "/usr/lib")
	if err := b.take(name, nil); err != nil {
		return nil, fmt.Errorf("find the libraries of %s: %w", name, err)
	}
	return b.files, nil
}

type bundle struct {
	files   map[string]string
	folders []string
}

// take adds a file with all its dependencies.
func (b *bundle) take(name string, search []string) error {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	if _, known := b.files[name]; known {
		return nil
	}
	b.files[name] = real
	f, err := elf.Open(real)
	if err != nil {
		return fmt.Errorf("read %s: %w", real, err)
	}
	defer f.Close()
	loader, err := interpreter(f)
	if err != nil {
		return fmt.Errorf("read %s: %w", real, err)
	}
	if loader != "" {
		if b.files[loader], err = filepath.EvalSymlinks(loader); err != nil {
			return err
		}
	}
	own, err := runPath(f, filepath.Dir(real))
	if err != nil {
		return fmt.Errorf("read %s: %w", real, err)
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("read %s: %w", real, err)
	}
	for _, library := range libraries {
		at := b.find(library, f.Class, slices.Concat(own, search))
		if at == "" {
			return fmt.Errorf("%s requires %s, which is not in %s", real, library, strings.Join(slices.Concat(own, search, b.folders), ", "))
		}
		if err := b.take(at, search); err != nil {
			return err
		}
	}
	return nil
}

// find is the path of a library of an ELF class; empty if it is not found.
func (b *bundle) find(library string, class elf.Class, first []string) string {
	for _, folder := range slices.Concat(first, b.folders) {
		at := filepath.Join(folder, library)
		f, err := elf.Open(at)
		if err != nil {
			continue
		}
		fits := f.Class == class
		f.Close()
		if fits {
			return at
		}
	}
	return ""
}

// interpreter is the loader of a program; empty for a library and a static program.
func interpreter(f *elf.File) (string, error) {
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(p.Open(), 4096))
		return strings.TrimRight(string(text), "\x00"), err
	}
	return "", nil
}

// runPath are the run path's folders of a file.
func runPath(f *elf.File, origin string) (out []string, err error) {
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		texts, err := f.DynString(tag)
		if err != nil && f.Section(".dynamic") != nil {
			return nil, err
		}
		for _, text := range texts {
			for folder := range strings.SplitSeq(text, ":") {
				folder = strings.ReplaceAll(strings.ReplaceAll(folder, "${ORIGIN}", origin), "$ORIGIN", origin)
				if filepath.IsAbs(folder) {
					out = append(out, filepath.Clean(folder))
				}
			}
		}
	}
	return out, nil
}

// folders are those of a configuration file of the loader.
func folders(file string, depth int) (out []string, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) || depth > 8 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "include":
			for _, pattern := range words[1:] {
				if !filepath.IsAbs(pattern) {
					pattern = filepath.Join(filepath.Dir(file), pattern)
				}
				names, err := filepath.Glob(pattern)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", file, err)
				}
				for _, name := range names {
					more, err := folders(name, depth+1)
					if err != nil {
						return nil, err
					}
					out = append(out, more...)
				}
			}
		case filepath.IsAbs(words[0]):
			out = append(out, words[0])
		}
	}
	return out, nil
}
