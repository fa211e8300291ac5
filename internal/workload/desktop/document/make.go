// Package document makes what the sessions of workload desktop work on, from a seed, and checks what programs make of it. It is
// pure.
package document

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"math/rand/v2"
	"strings"
)

// Sections is how many pages the letter has: each section begins one, and fits on it in any common font.
const Sections = 12

// Rows and Columns are the size of the table.
const (
	Rows    = 3000
	Columns = 20
)

// Sheets is how many pages the drawing has.
const Sheets = 3

// LettersTitle is a line of the letter that others than its own seed do not have.
func LettersTitle(seed uint64) string { return fmt.Sprintf("Report %016x", seed) }

// Letter is a text document with a table on each of its pages, in the flat form of OpenDocument (OASIS OpenDocument 1.2).
func Letter(seed uint64) []byte {
	w := newWriter(seed, 1)
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0" xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" office:version="1.2" office:mimetype="application/vnd.oasis.opendocument.text">
<office:automatic-styles><style:style style:name="Begin" style:family="paragraph"><style:paragraph-properties fo:break-before="page"/></style:style></office:automatic-styles>
<office:body><office:text>
`)
	const paragraphs, words, rows, columns = 2, 50, 14, 4
	for section := range Sections {
		style := ""
		if section > 0 {
			style = ` text:style-name="Begin"`
		}
		fmt.Fprintf(&b, "<text:p%s>%s, section %d</text:p>\n", style, LettersTitle(seed), section+1)
		for range paragraphs {
			fmt.Fprintf(&b, "<text:p>%s.</text:p>\n", w.words(words))
		}
		fmt.Fprintf(&b, "<table:table table:name=\"T%d\"><table:table-column table:number-columns-repeated=\"%d\"/>\n", section+1, columns)
		for range rows {
			b.WriteString("<table:table-row>")
			for range columns {
				fmt.Fprintf(&b, "<table:table-cell><text:p>%d</text:p></table:table-cell>", w.rng.IntN(1_000_000))
			}
			b.WriteString("</table:table-row>\n")
		}
		b.WriteString("</table:table>\n")
	}
	b.WriteString("</office:text></office:body></office:document>\n")
	return []byte(b.String())
}

// Table is numbers separated by commas.
func Table(seed uint64) []byte {
	w := newWriter(seed, 2)
	var b bytes.Buffer
	for range Rows {
		for column := range Columns {
			if column > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%d", w.rng.IntN(100_000))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// Text is so many bytes of words, of which an archive saves more than half.
func Text(seed uint64, size int) []byte {
	w := newWriter(seed, 3)
	b := make([]byte, 0, size+256)
	for len(b) < size {
		b = append(b, w.words(12)...)
		b = append(b, ".\n"...)
	}
	return b[:size]
}

// Drawing is a PDF of filled curves, which needs no fonts (ISO 32000-1, 7.5 and 8.5).
func Drawing(seed uint64) []byte {
	const shapes, width, height = 2500, 595, 842
	w := newWriter(seed, 4)
	var b bytes.Buffer
	var offsets []int
	object := func(format string, args ...any) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n", len(offsets))
		fmt.Fprintf(&b, format, args...)
		b.WriteString("\nendobj\n")
	}
	b.WriteString("%PDF-1.4\n")
	object("<< /Type /Catalog /Pages 2 0 R >>")
	kids := ""
	for page := range Sheets {
		kids += fmt.Sprintf("%d 0 R ", 3+2*page)
	}
	object("<< /Type /Pages /Kids [ %s] /Count %d >>", kids, Sheets)
	for page := range Sheets {
		object("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Resources << >> /Contents %d 0 R >>", width, height, 4+2*page)
		var packed bytes.Buffer
		z := zlib.NewWriter(&packed)
		for range shapes {
			x, y := w.rng.IntN(width), w.rng.IntN(height)
			near := func() (int, int) { return x + w.rng.IntN(80) - 40, y + w.rng.IntN(80) - 40 }
			x1, y1 := near()
			x2, y2 := near()
			x3, y3 := near()
			fmt.Fprintf(z, "%.2f %.2f %.2f rg %d %d m %d %d %d %d %d %d c f\n", w.rng.Float64(), w.rng.Float64(), w.rng.Float64(), x, y, x1, y1, x2, y2, x3, y3)
		}
		_ = z.Close() // into memory
		object("<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream", packed.Len(), packed.String())
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, at)
	return b.Bytes()
}

// writer draws words and numbers.
type writer struct {
	rng  *rand.Rand
	list []string
}

func newWriter(seed, stream uint64) *writer {
	w := &writer{rng: rand.New(rand.NewPCG(seed, stream))}
	const vocabulary = 2000
	for range vocabulary {
		syllables := ""
		for range 1 + w.rng.IntN(4) {
			syllables += string("bdfgklmnprst"[w.rng.IntN(12)]) + string("aeiou"[w.rng.IntN(5)])
		}
		w.list = append(w.list, syllables)
	}
	return w
}

func (w *writer) words(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = w.list[w.rng.IntN(len(w.list))]
	}
	return strings.Join(all, " ")
}
