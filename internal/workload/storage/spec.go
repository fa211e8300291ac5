package storage

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/parameter"
)

// blockShare is one size of operations and its share of them.
type blockShare struct {
	size  parameter.Bytes
	share float64
}

const blockForm = "is not a size such as 4KiB, nor a mix such as 4KiB/70:64KiB/30, nor those of reads and of writes with a comma between them"

// blocks are the sizes of reads and of writes.
type blocks struct{ read, write []blockShare }

// parseBlocks reads the sizes of reads and writes: those of both, or those of reads
// and after a comma those of writes.
func parseBlocks(text string) (blocks, error) {
	reads, writes, apart := strings.Cut(text, ",")
	read, err := parseMix(reads)
	if err != nil || !apart {
		return blocks{read, read}, err
	}
	write, err := parseMix(writes)
	return blocks{read, write}, err
}

// sizes lists all of them, reads first.
func (b blocks) sizes() []parameter.Bytes {
	var sizes []parameter.Bytes
	for _, mix := range [][]blockShare{b.read, b.write} {
		for _, one := range mix {
			sizes = append(sizes, one.size)
		}
	}
	return sizes
}

// mean is the mean size of an operation.
func mean(mix []blockShare) int64 {
	sum := 0.0
	for _, b := range mix {
		sum += b.share * float64(b.size)
	}
	return int64(sum)
}

// parseMix reads one size, or sizes with their shares in percent.
func parseMix(text string) ([]blockShare, error) {
	var mix []blockShare
	total := 0.0
	parts := strings.Split(text, ":")
	for _, part := range parts {
		size, share, mixed := strings.Cut(part, "/")
		b := blockShare{share: 1}
		if err := b.size.UnmarshalText([]byte(size)); err != nil || mixed != (len(parts) > 1) {
			return nil, fmt.Errorf("block %q %s", text, blockForm)
		}
		if mixed {
			n, err := strconv.ParseFloat(share, 64)
			if err != nil || !(n > 0 && n <= 100) || n != math.Trunc(n) {
				return nil, fmt.Errorf("block %q: the share %q is not a whole percentage from 1 to 100", text, share)
			}
			b.share = n / 100
			total += n
		}
		if b.size < 512 || b.size%512 != 0 || b.size > 1<<30 {
			return nil, fmt.Errorf("block %q: %s is not a multiple of 512 bytes up to 1 GiB", text, b.size)
		}
		mix = append(mix, b)
	}
	if len(mix) > 1 && total != 100 {
		return nil, fmt.Errorf("block %q: the shares add up to %g %%, not to 100 %%", text, total)
	}
	if len(mix) > 64 {
		return nil, errors.New("block: fio takes at most 64 sizes")
	}
	return mix, nil
}
