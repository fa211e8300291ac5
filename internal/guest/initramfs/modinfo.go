package initramfs

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"strings"
)

// modinfo is the metadata of a module.
type modinfo struct {
	depends []string // modules whose symbols it uses
	before  []string // soft dependencies, which are optional
	release string   // of its kernel; empty if absent
}

// readModinfo reads the section .modinfo of an uncompressed module: NAME=VALUE, each
// terminated by a zero byte.
func readModinfo(module []byte) (modinfo, error) {
	f, err := elf.NewFile(bytes.NewReader(module))
	if err != nil {
		return modinfo{}, fmt.Errorf("not a kernel module: %w", err)
	}
	s := f.Section(".modinfo")
	if s == nil || s.Type != elf.SHT_PROGBITS || s.Size > uint64(len(module)) {
		return modinfo{}, errors.New("not a kernel module: it has no .modinfo")
	}
	text, err := s.Data()
	if err != nil {
		return modinfo{}, fmt.Errorf("its .modinfo: %w", err)
	}
	return parseModinfo(text), nil
}

func parseModinfo(text []byte) modinfo {
	var m modinfo
	for _, line := range bytes.Split(text, []byte{0}) {
		key, value, _ := strings.Cut(string(line), "=")
		switch key {
		case "depends":
			for _, name := range strings.Split(value, ",") {
				if plain := plainName(name); plain != "" {
					m.depends = append(m.depends, plain)
				}
			}
		case "softdep":
			m.before = append(m.before, before(value)...)
		case "vermagic":
			m.release, _, _ = strings.Cut(value, " ")
		}
	}
	return m
}

// before returns the names between "pre:" and "post:" of a soft dependency.
func before(value string) []string {
	var names []string
	pre := false
	for _, word := range strings.Fields(value) {
		switch word {
		case "pre:":
			pre = true
		case "post:":
			pre = false
		default:
			if plain := plainName(word); pre && plain != "" {
				names = append(names, plain)
			}
		}
	}
	return names
}

// plainName is a module's name in the kernel's spelling; empty if invalid.
func plainName(name string) string {
	name = strings.ReplaceAll(strings.TrimSpace(name), "-", "_")
	for _, r := range name {
		if r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return ""
		}
	}
	return name
}
