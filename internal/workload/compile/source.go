package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The source.
const (
	sourceName   = "Lua 5.4.4"
	sourceDigest = "164c7849653b80ae67bec4b7473b884bf5cc8d2dca05653475ec2ed27b9ebf61" // SHA-256, as its authors publish it
	sourceInside = "lua-5.4.4/src"
	sourceUnits  = 34
	sourceBytes  = 705399 // of all units
)

// checkSource reports whether an archive is the one that was published.
func checkSource(archive []byte) error {
	if len(archive) == 0 {
		return errors.New("this program only builds the source, and does not hold it")
	}
	sum := sha256.Sum256(archive)
	if got := hex.EncodeToString(sum[:]); got != sourceDigest {
		return fmt.Errorf("the source of %s in this plimsoll has the digest %s and must have %s: rebuild plimsoll", sourceName, got, sourceDigest)
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

// units are all files to compile in the folder of the source, by name.
func units(dir string) ([]unit, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the source of %s: %w", sourceName, err)
	}
	var all []unit
	var total int64
	for _, f := range files {
		if filepath.Ext(f.Name()) != ".c" {
			continue
		}
		info, err := f.Info()
		if err != nil {
			return nil, fmt.Errorf("read the source of %s: %w", sourceName, err)
		}
		all = append(all, unit{f.Name(), info.Size()})
		total += info.Size()
	}
	if len(all) != sourceUnits || total != sourceBytes {
		return nil, fmt.Errorf("%s holds %d units of %d bytes instead of %d of %d: something else writes to the scratch folder", dir, len(all), total, sourceUnits, sourceBytes)
	}
	return all, nil
}

// programs are the linked programs, each with the object that only it has.
func programs() map[string]string { return map[string]string{"lua": "lua.o", "luac": "luac.o"} }
