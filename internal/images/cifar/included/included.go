// Package included holds the first 300 test images of CIFAR-10, which plimsoll contains and plimsoll-agent does not, because of their size.
package included

import (
	"bytes"
	_ "embed"
	"fmt"

	"plimsoll/internal/images"
	"plimsoll/internal/images/cifar"
)

// picture has an image in each row, as the files of the package have.
//
//go:embed sample.png
var picture []byte

// labels are the classes of its rows, a digit each.
//
//go:embed sample.txt
var labels []byte

// Images returns the test images that come with plimsoll.
func Images() ([]images.Image, error) {
	classes := bytes.TrimSpace(bytes.Clone(labels))
	for i := range classes {
		classes[i] -= '0'
	}
	set, err := cifar.Decode(picture, classes)
	if err != nil {
		return nil, fmt.Errorf("read the sample of CIFAR-10: %w", err)
	}
	return set, nil
}
