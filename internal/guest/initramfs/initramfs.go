// Package initramfs builds the initramfs of a guest: one static program as /init, the
// required kernel modules, and files of the caller. Equal inputs give equal bytes.
package initramfs

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/guest/kernel"
)

// ModulesDir is the folder of the modules in a guest, and ModulesOrder the file with their
// load order: one file name per line, relative to ModulesDir.
const (
	ModulesDir   = "/mods"
	ModulesOrder = ModulesDir + "/order"
)

// Spec describes an archive.
type Spec struct {
	Init    string            // a static program, which becomes /init
	Kernel  *kernel.Kernel    // for its modules; nil for none
	Modules []string          // name in the guest to a local file, whose execute permission is kept
	Files   map[string]string // name in the guest to a file here, whose execute permission it keeps
}

// Archive is a complete initramfs in memory.
type Archive struct {
	entries []Entry
	order   []string
}

// Build writes the archive of a spec uncompressed, which boots fastest.
func Build(w io.Writer, s Spec) error {
	a, err := New(s)
	if err != nil {
		return err
	}
	_, err = a.WriteTo(w)
	return err
}

// New reads all files of an archive.
func New(s Spec) (*Archive, error) {
	init, err := os.ReadFile(s.Init)
	if err != nil {
		return nil, fmt.Errorf("create an initramfs: /init: %w", err)
	}
	if !static(init) {
		return nil, fmt.Errorf("create an initramfs: /init: %s is not a static program for Linux: build it with CGO_ENABLED=0", s.Init)
	}
	modules, err := resolve(s.Kernel, s.Modules)
	if err != nil {
		return nil, fmt.Errorf("create an initramfs: %w", err)
	}
	files := map[string]Entry{
		"init":        {Mode: modeFile | 0o755, Content: init},
		"dev/console": {Mode: modeChar | 0o600, Major: 5, Minor: 1},
	}
	for _, dir := range []string{"dev", "proc", "sys", "run", "tmp", "mods"} {
		files[dir] = Entry{Mode: modeDir | 0o755}
	}
	a := &Archive{}
	var order strings.Builder
	for _, m := range modules {
		a.order = append(a.order, m.name)
		order.WriteString(m.name + ".ko\n")
		files["mods/"+m.name+".ko"] = Entry{Mode: modeFile | 0o644, Content: m.content}
	}
	files["mods/order"] = Entry{Mode: modeFile | 0o644, Content: []byte(order.String())}
	if err := extras(files, s.Files); err != nil {
		return nil, fmt.Errorf("create an initramfs: %w", err)
	}
	if err := parents(files); err != nil {
		return nil, fmt.Errorf("create an initramfs: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		e := files[name]
		e.Name = name
		a.entries = append(a.entries, e)
	}
	return a, nil
}

// static reports whether a program runs without an interpreter or libraries.
func static(program []byte) bool {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil || f.Machine != elf.EM_X86_64 || f.Type != elf.ET_EXEC && f.Type != elf.ET_DYN {
		return false
	}
	return !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

// extras adds files of the caller's choice.
func extras(files map[string]Entry, extra map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		clean, err := guestName(name)
		if err != nil {
			return err
		}
		if _, taken := files[clean]; taken {
			return fmt.Errorf("file /%s exists already", clean)
		}
		about, err := os.Stat(extra[name])
		if err != nil {
			return fmt.Errorf("file /%s: %w", clean, err)
		}
		if !about.Mode().IsRegular() {
			return fmt.Errorf("file /%s: %s is not a regular file", clean, extra[name])
		}
		content, err := os.ReadFile(extra[name])
		if err != nil {
			return fmt.Errorf("file /%s: %w", clean, err)
		}
		// Of the mode only the execute permission is kept, so that the umask has no influence.
		mode := uint32(0o644)
		if about.Mode()&0o100 != 0 {
			mode = 0o755
		}
		files[clean] = Entry{Mode: modeFile | mode, Content: content}
	}
	return nil
}

// parents adds the parent folders of files, which precede them in sorted order.
func parents(files map[string]Entry) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if e, there := files[dir]; there && e.Mode&modeKind != modeDir {
				return fmt.Errorf("/%s is a file, so /%s cannot be created", dir, name)
			}
			files[dir] = Entry{Mode: modeDir | 0o755}
		}
	}
	return nil
}

// WriteTo writes the archive and returns its size in bytes.
func (a *Archive) WriteTo(w io.Writer) (int64, error) {
	c := &counter{w: w}
	if err := writeArchive(c, a.entries); err != nil {
		return c.n, fmt.Errorf("write the initramfs: %w", err)
	}
	return c.n, nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// Modules returns the names of the modules in the order in which they are loaded.
func (a *Archive) Modules() []string { return slices.Clone(a.order) }

// Sizes are the sizes of an archive's parts.
type Sizes struct {
	Init    int64 `json:"init"`    // /init
	Modules int64 `json:"modules"` // modules of the kernel
	Files   int64 `json:"files"`   // files added by the caller
	Total   int64 `json:"total"`   // with names and headers
}

// Sizes returns the size of the archive and of its parts, in bytes.
func (a *Archive) Sizes() Sizes {
	var s Sizes
	for _, e := range a.entries {
		n := int64(len(e.Content))
		switch {
		case e.Name == "init":
			s.Init += n
		case strings.HasPrefix(e.Name, "mods/"):
			s.Modules += n
		case e.Mode&modeKind == modeFile:
			s.Files += n
		}
	}
	s.Total, _ = a.WriteTo(io.Discard)
	return s
}
