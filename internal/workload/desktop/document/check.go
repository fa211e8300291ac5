package document

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"image/png"
	"io"
	"strconv"
)

// mostUnpacked bounds what a part of a file may unpack to.
const mostUnpacked = 64 << 20

// Pages is the number of pages of a PDF: of its objects of type Page, also of those in streams of objects (ISO 32000-1, 7.5.7).
// The error is for a file that is none.
func Pages(pdf []byte) (int, error) {
	if !bytes.HasPrefix(pdf, []byte("%PDF-")) {
		return 0, errors.New("it is not a PDF")
	}
	n := countPages(pdf)
	for rest := pdf; ; {
		at := bytes.Index(rest, []byte("/ObjStm"))
		if at < 0 {
			return n, nil
		}
		rest = rest[at:]
		begin := bytes.Index(rest, []byte("stream"))
		if begin < 0 {
			return n, nil
		}
		rest = bytes.TrimLeft(rest[begin+len("stream"):], "\r\n")
		z, err := zlib.NewReader(bytes.NewReader(rest))
		if err != nil {
			continue // packed in another way
		}
		text, _ := io.ReadAll(io.LimitReader(z, mostUnpacked)) // of a stream that is cut off, what there is
		n += countPages(text)
	}
}

// countPages counts "/Type /Page" as a whole name.
func countPages(text []byte) (n int) {
	for {
		at := bytes.Index(text, []byte("/Type"))
		if at < 0 {
			return n
		}
		text = bytes.TrimLeft(text[at+len("/Type"):], " \r\n\t")
		if rest, ok := bytes.CutPrefix(text, []byte("/Page")); ok && (len(rest) == 0 || !letter(rest[0])) {
			n++
		}
	}
}

func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// Counted is how often a text is in a part of an office document, which is a ZIP archive. The error is for one without the part.
func Counted(archive []byte, part, text string) (int, error) {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return 0, fmt.Errorf("it is no office document: %w", err)
	}
	for _, f := range z.File {
		if f.Name != part {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return 0, fmt.Errorf("read its %s: %w", part, err)
		}
		defer r.Close() //nolint:errcheck // it was read
		content, err := io.ReadAll(io.LimitReader(r, mostUnpacked))
		if err != nil {
			return 0, fmt.Errorf("read its %s: %w", part, err)
		}
		return bytes.Count(content, []byte(text)), nil
	}
	return 0, fmt.Errorf("it has no %s", part)
}

// Screenshot is the size of a PNG. The error is for one that cannot be decoded or has one colour only.
func Screenshot(file []byte) (width, height int, err error) {
	size, err := png.DecodeConfig(bytes.NewReader(file))
	const most = 1 << 24
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("it is no picture: %w", err)
	case size.Width > most/max(1, size.Height):
		return 0, 0, fmt.Errorf("it has %d x %d pixels", size.Width, size.Height)
	}
	picture, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return 0, 0, fmt.Errorf("it is no picture: %w", err)
	}
	first := picture.At(0, 0)
	for y := 0; y < size.Height; y += 3 {
		for x := 0; x < size.Width; x += 3 {
			if picture.At(x, y) != first {
				return size.Width, size.Height, nil
			}
		}
	}
	return 0, 0, errors.New("it is blank")
}

// Raster is the size of a binary PPM, as pdftoppm writes it. The error is for one that is cut off or has one colour only.
func Raster(ppm []byte) (width, height int, err error) {
	fields, at := make([]int, 0, 3), 2
	if !bytes.HasPrefix(ppm, []byte("P6")) {
		return 0, 0, errors.New("it is no picture")
	}
	for len(fields) < 3 {
		for at < len(ppm) && space(ppm[at]) {
			at++
		}
		from := at
		for at < len(ppm) && !space(ppm[at]) {
			at++
		}
		n, err := strconv.Atoi(string(ppm[from:at]))
		if err != nil || n < 1 || n > 1<<16 {
			return 0, 0, errors.New("it is no picture")
		}
		fields = append(fields, n)
	}
	pixels := ppm[min(at+1, len(ppm)):]
	if len(pixels) != 3*fields[0]*fields[1] {
		return 0, 0, fmt.Errorf("it has %d bytes of %d", len(pixels), 3*fields[0]*fields[1])
	}
	if len(pixels) > 3 && bytes.Equal(pixels[3:], pixels[:len(pixels)-3]) { // each pixel is like the one before it
		return 0, 0, errors.New("it is blank")
	}
	return fields[0], fields[1], nil
}

func space(b byte) bool { return b == ' ' || b == '\n' || b == '\r' || b == '\t' }
