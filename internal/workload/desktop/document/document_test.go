package document

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"
	"testing"
)

func TestDocumentsComeFromTheSeed(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]func(uint64) []byte{
		"letter": Letter, "table": Table, "drawing": Drawing, "text": func(seed uint64) []byte { return Text(seed, 5000) },
	} {
		if !bytes.Equal(made(1), made(1)) || bytes.Equal(made(1), made(2)) {
			t.Errorf("%s is not what its seed says", name)
		}
	}
}

func TestLetter(t *testing.T) {
	t.Parallel()
	letter := Letter(7)
	counts := map[string]int{}
	for d := xml.NewDecoder(bytes.NewReader(letter)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok {
			counts[e.Name.Local]++
		}
	}
	if counts["table"] != Sections || strings.Count(string(letter), LettersTitle(7)) != Sections || len(letter) < 40_000 || len(letter) > 100_000 {
		t.Errorf("%d bytes, %v", len(letter), counts)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	table := Table(7)
	if rows := bytes.Count(table, []byte("\n")); rows != Rows || bytes.Count(table, []byte(",")) != Rows*(Columns-1) {
		t.Errorf("%d rows", rows)
	}
}

func TestTextIsWorthAnArchive(t *testing.T) {
	t.Parallel()
	const size = 200_000
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(Text(7, size)); err != nil || z.Close() != nil || len(Text(7, size)) != size {
		t.Fatal(err)
	}
	if share := float64(packed.Len()) / size; share < .2 || share > .5 {
		t.Errorf("an archive takes %.2f of the text", share)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	var stream bytes.Buffer
	z := zlib.NewWriter(&stream)
	fmt.Fprint(z, "<</Type/Page/Parent 3 0 R>><< /Type /Page >>")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for want, pdf := range map[int]string{
		Sheets: string(Drawing(1)),
		1:      "%PDF-1.7 <</Type/Pages/Count 1>> <</Type/Page/Parent 1 0 R>>",
		0:      "%PDF-1.7 <</Type /Pages>> /Type",
		2:      "%PDF-1.7 <</Type/ObjStm/N 2>>\nstream\r\n" + stream.String() + "\nendstream",
	} {
		if got, err := Pages([]byte(pdf)); err != nil || got != want {
			t.Errorf("%d pages (%v), want %d in %.60q", got, err, want, pdf)
		}
	}
	if _, err := Pages([]byte("<html>")); err == nil {
		t.Error("a page of the web is a PDF")
	}
}

func zipped(t testing.TB, part, content string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(part)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(content)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestCounted(t *testing.T) {
	t.Parallel()
	if n, err := Counted(zipped(t, "xl/a.xml", "<row 1/><row 2/>"), "xl/a.xml", "<row "); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for name, bad := range map[string][]byte{"no part": zipped(t, "b", ""), "no archive": []byte("PK"), "nothing": nil} {
		if _, err := Counted(bad, "xl/a.xml", "<row "); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func picture(t testing.TB, blank bool) []byte {
	p := image.NewRGBA(image.Rect(0, 0, 40, 30))
	if !blank {
		for x := range 40 {
			p.Set(x, 15, color.White)
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestScreenshot(t *testing.T) {
	t.Parallel()
	if w, h, err := Screenshot(picture(t, false)); w != 40 || h != 30 || err != nil {
		t.Errorf("%d x %d, %v", w, h, err)
	}
	whole := picture(t, false)
	for name, bad := range map[string][]byte{"blank": picture(t, true), "text": []byte("P6"), "cut off": whole[:len(whole)/2]} {
		if _, _, err := Screenshot(bad); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func TestRaster(t *testing.T) {
	t.Parallel()
	if w, h, err := Raster([]byte("P6\n2 1\n255\nabcdef")); w != 2 || h != 1 || err != nil {
		t.Errorf("%d x %d, %v", w, h, err)
	}
	for _, bad := range []string{"", "P5\n2 1\n255\nabcdef", "P6\n2 1\n255\nabcde", "P6\n2 1\n255\nabcabc", "P6 0 1 255 ", "P6 99999999 1 255 ", "P6 2 x"} {
		if _, _, err := Raster([]byte(bad)); err == nil {
			t.Errorf("%q passes", bad)
		}
	}
}

func FuzzPages(f *testing.F) {
	f.Add(Drawing(1))
	f.Add([]byte("%PDF-1.7 <</Type/ObjStm>> stream\n"))
	f.Fuzz(func(t *testing.T, pdf []byte) {
		if n, err := Pages(pdf); n < 0 || err != nil && n > 0 {
			t.Errorf("%d, %v", n, err)
		}
	})
}

func FuzzCounted(f *testing.F) {
	f.Add(zipped(f, "a", "row"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		if n, err := Counted(archive, "a", "row"); n < 0 || err != nil && n > 0 {
			t.Errorf("%d, %v", n, err)
		}
	})
}

func FuzzPictures(f *testing.F) {
	f.Add(picture(f, false))
	f.Add([]byte("P6\n2 1\n255\nabcdef"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if w, h, err := Raster(file); err == nil && len(file) < 3*w*h {
			t.Errorf("%d x %d in %d bytes", w, h, len(file))
		}
		if w, h, err := Screenshot(file); err == nil && (w < 1 || h < 1) {
			t.Errorf("%d x %d", w, h)
		}
	})
}
