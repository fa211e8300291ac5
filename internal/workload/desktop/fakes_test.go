package desktop

import (
	"archive/zip"
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/platforms/local"
	"plimsoll/internal/workload"
	"plimsoll/internal/workload/desktop/document"
	"plimsoll/internal/workload/desktop/page"
)

const seed = 7

// fakes are programs that give right results at once. They hold ready files, which a test may change; a file PROGRAM.sh is run
// first.
type fakes struct{ folder string }

func newFakes(t *testing.T) fakes {
	t.Helper()
	f := fakes{t.TempDir()}
	const first = `#!/bin/sh
F=%s
[ -e $F/${0##*/}.sh ] && . $F/${0##*/}.sh
for last; do :; done
`
	for name, text := range map[string]string{
		"soffice": `case "$*" in
--version) echo LibreOffice 7 ;;
*--terminate_after_init*) ;;
*--cat*) cat $F/letter.txt ;;
*"--convert-to pdf"*) cp $F/letter.pdf . ;;
*"--convert-to docx"*) cp $F/letter.docx . ;;
*"--convert-to xlsx"*) cp $F/table.xlsx . ;;
*) exit 9 ;;
esac`,
		"chromium": `case "$*" in
--version) echo Chromium 1.2 ;;
*about:blank) ;;
*--screenshot=*) cp $F/page.png . ;;
*--dump-dom*) echo "<html><head><title>$(cat $F/title-${last##*/})</title></head></html>" ;;
*) exit 9 ;;
esac`,
		"7z": `case "$1" in
i) echo 7-Zip 16.02 ;;
a) for a; do case "$a" in *.7z) echo packed >"$a" ;; esac; done ;;
t) [ -s "$last" ] ;;
*) exit 9 ;;
esac`,
		"pdftoppm": `case "$*" in
-v) echo pdftoppm 22 >&2 ;;
*) for i in 1 2 3; do ln -f $F/view.ppm view-$i.ppm; done ;;
esac`,
	} {
		f.write(t, name, fmt.Appendf(nil, first+"%s\n", f.folder, text))
		if err := os.Chmod(filepath.Join(f.folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f.write(t, "libswlo.so", nil)
	f.write(t, "libsclo.so", nil)
	f.results(t)
	t.Setenv("PATH", f.folder+":"+os.Getenv("PATH"))
	return f
}

// results are the ready files.
func (f fakes) results(t *testing.T) {
	t.Helper()
	titles := strings.Repeat(document.LettersTitle(seed)+"\n", document.Sections)
	f.write(t, "letter.txt", []byte(titles))
	f.write(t, "letter.pdf", []byte("%PDF-1.6 "+strings.Repeat("<</Type/Page/Parent 1 0 R>>\n", document.Sections)))
	f.write(t, "letter.docx", zipped(t, "word/document.xml", titles))
	f.write(t, "table.xlsx", zipped(t, "xl/worksheets/sheet1.xml", strings.Repeat("<row r>", document.Rows)))
	picture := image.NewGray(image.Rect(0, 0, 800, 600))
	picture.Set(3, 3, color.White)
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	f.write(t, "page.png", b.Bytes())
	view := append([]byte("P6\n700 1000\n255\n"), make([]byte, 3*700*1000)...)
	view[len(view)-1] = 1
	f.write(t, "view.ppm", view)
	s, err := page.Serve(t.Context(), seed)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for n := range 13 {
		f.write(t, fmt.Sprintf("title-%d", n), []byte(s.Title(n)))
	}
}

func (f fakes) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.folder, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func zipped(t *testing.T, part, content string) []byte {
	t.Helper()
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

func here(t *testing.T) workload.Env {
	t.Helper()
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return workload.Env{Machine: p.Machine(), Dir: filepath.Join(t.TempDir(), "scratch"), Seed: seed, Log: t.Logf}
}
