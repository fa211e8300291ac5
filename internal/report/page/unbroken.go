package page

import (
	"bytes"
	"regexp"
)

var (
	markup = regexp.MustCompile(`(?s)<(style|pre|code|title|data)\b.*?</(?:style|pre|code|title|data)>|<[^>]*>`)
	joined = regexp.MustCompile(`(\d) (%|[µnm]?s|[KMGT]iB(?:/s)?|[kMG]?B(?:/s)?|[kMG]/s)([^\pL\d]|$)`)
)

// Unbroken joins each number of a page to its unit, so that no line ends between them.
// Elements whose text is code, or that CSS keeps together, stay as they are.
func Unbroken(page []byte) []byte {
	var out bytes.Buffer
	at := 0
	text := func(to int) { out.Write(joined.ReplaceAll(page[at:to], []byte("$1\u00a0$2$3"))) }
	for _, m := range markup.FindAllIndex(page, -1) {
		text(m[0])
		out.Write(page[m[0]:m[1]])
		at = m[1]
	}
	text(len(page))
	return out.Bytes()
}
