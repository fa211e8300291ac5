package page

import (
	"bytes"

	"plimsoll/internal/pattern"
)

var (
	verbatim = pattern.Of(`^<(?:style|pre|code|title|data)\b`)
	closing  = pattern.Of(`</(?:style|pre|code|title|data)>`)
	joined   = pattern.Of(`(\d) (%|[µnm]?s|[KMGT]iB(?:/s)?|[kMG]?B(?:/s)?|[kMG]/s)([^\pL\d]|$)`)
)

// Unbroken inserts non-breaking spaces between numbers and units. Elements whose text is code,
// or that CSS does not wrap, are left unchanged.
func Unbroken(page []byte) []byte {
	var out bytes.Buffer
	for len(page) > 0 {
		text := page
		if at := bytes.IndexByte(page, '<'); at > 0 {
			text = page[:at]
		} else if n := markup(page); at == 0 && n > 0 {
			out.Write(page[:n])
			page = page[n:]
			continue
		}
		out.Write(joined().ReplaceAll(text, []byte("$1\u00a0$2$3")))
		page = page[len(text):]
	}
	return out.Bytes()
}

// markup is the length of the leading tag, including its element if the text of that is
// unchanged; 0 for an unclosed tag.
func markup(page []byte) int {
	if verbatim().Match(page[:min(len(page), 10)]) {
		if end := closing().FindIndex(page); end != nil {
			return end[1]
		}
	}
	return bytes.IndexByte(page, '>') + 1
}
