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

// Unbroken joins each number of a page to its unit, so that no line ends between them.
// Elements whose text is code, or that CSS keeps together, stay as they are.
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

// markup is the length of the tag that a page begins with, together with its element where
// the text of that stays as it is; 0 where the tag has no end.
func markup(page []byte) int {
	if verbatim().Match(page[:min(len(page), 10)]) {
		if end := closing().FindIndex(page); end != nil {
			return end[1]
		}
	}
	return bytes.IndexByte(page, '>') + 1
}
