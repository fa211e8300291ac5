// Package webfiles makes the pages that web servers of studies serve.
package webfiles

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
)

// Manifest is the path below which a web server of a study lists its pages. Each
// line is one page: all files that it takes, its text first, each as
// PATH:BYTES, separated by blanks.
const Manifest = "/pages.txt"

// Pages are what a web server serves: pages that take the same bytes each, of
// which a tenth is text, and the rest images of equal size.
type Pages struct {
	Count  int   // pages
	Size   int64 // bytes of a page with its images
	Images int   // of a page; without any, all of a page is text
	Seed   uint64
}

// Bytes is what all files take.
func (p Pages) Bytes() int64 { return int64(p.Count) * p.Size }

// sizes are the bytes of the files of a page.
func (p Pages) sizes() []int64 {
	if p.Images == 0 {
		return []int64{p.Size}
	}
	sizes := []int64{p.Size / 10}
	rest := p.Size - sizes[0]
	for i := range p.Images {
		left := int64(p.Images - i)
		sizes = append(sizes, rest/left)
		rest -= rest / left
	}
	return sizes
}

func (p Pages) path(page, file int) string {
	if file == 0 {
		return fmt.Sprintf("/%d/page.html", page)
	}
	return fmt.Sprintf("/%d/%d.jpg", page, file)
}

// Manifest is the list of all pages.
func (p Pages) Manifest() []byte {
	var b bytes.Buffer
	sizes := p.sizes()
	for page := range p.Count {
		for file, size := range sizes {
			if file > 0 {
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "%s:%d", p.path(page, file), size)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// Files are all files, by path. The same seed gives the same bytes; those of
// images cannot be compressed.
func (p Pages) Files() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		if !yield(Manifest, p.Manifest()) {
			return
		}
		var key [32]byte
		for i := range 8 {
			key[i] = byte(p.Seed >> (8 * i))
		}
		random := rand.NewChaCha8(key)
		sizes := p.sizes()
		for page := range p.Count {
			for file, size := range sizes {
				data := make([]byte, size)
				if file == 0 {
					p.write(data, page, random)
				} else {
					_, _ = random.Read(data) // it never fails
				}
				if !yield(p.path(page, file), data) {
					return
				}
			}
		}
	}
}

// write fills data with a page that shows its images between words.
func (p Pages) write(data []byte, page int, random *rand.ChaCha8) {
	b := bytes.NewBuffer(data[:0])
	fmt.Fprintf(b, "<!doctype html><title>%d</title>\n", page)
	for i := range p.Images {
		fmt.Fprintf(b, "<img src=\"%s\">\n", p.path(page, i+1))
	}
	n := copy(data, b.Bytes())
	for n < len(data) {
		word := random.Uint64()
		for range 3 + word%7 {
			if n < len(data) {
				data[n] = 'a' + byte(word>>8%26)
				word, n = word*6364136223846793005+1442695040888963407, n+1
			}
		}
		if n < len(data) {
			data[n] = ' '
			n++
		}
	}
}
