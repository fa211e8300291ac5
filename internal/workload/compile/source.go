package compile

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // the source is part of the program
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// source is what is built: the release of Lua as its authors publish it, with its
// licence, unchanged.
//
//go:embed lua-5.4.4.tar.gz
var source []byte

// What the source is.
const (
	sourceName   = "Lua 5.4.4"
	sourceDigest = "164c7849653b80ae67bec4b7473b884bf5cc8d2dca05653475ec2ed27b9ebf61" // SHA-256, as its authors publish it
	sourceInside = "lua-5.4.4/src"
	sourceUnits  = 34
	sourceBytes  = 705399 // of all units
)

// checkSource says whether the source is the one that was published.
func checkSource() error {
	sum := sha256.Sum256(source)
	if got := hex.EncodeToString(sum[:]); got != sourceDigest {
		return fmt.Errorf("the source of %s in this plimsoll has the digest %s and must have %s: build plimsoll anew", sourceName, got, sourceDigest)
	}
	return nil
}

// unit is one file to compile.
type unit struct {
	name string
	size int64
}

// object is the name of the file that it becomes.
func (u unit) object() string { return strings.TrimSuffix(u.name, ".c") + ".o" }

// units are all files to compile, by name.
func units() ([]unit, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(source))
	if err != nil {
		return nil, fmt.Errorf("read the source of %s: %w", sourceName, err)
	}
	var all []unit
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the source of %s: %w", sourceName, err)
		}
		if path.Dir(h.Name) == sourceInside && path.Ext(h.Name) == ".c" {
			all = append(all, unit{path.Base(h.Name), h.Size})
		}
	}
	slices.SortFunc(all, func(a, b unit) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// programs are what is linked of the objects, each with the object that no other has.
func programs() map[string]string { return map[string]string{"lua": "lua.o", "luac": "luac.o"} }
