// Package document cuts a text into paragraphs, tables, code and sentences.
package document

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"plimsoll/internal/claim/number"
	"plimsoll/internal/pattern"
)

type blockKind int

const (
	proseBlock blockKind = iota
	TableBlock           // is a table
	CodeBlock            // is code, which is not audited
)

// Block is a paragraph, a list item, a heading, a table or code.
type Block struct {
	Kind      blockKind
	Line      int
	Text      string
	Sentences []located
	Rows      []Row
}

// located is a sentence with the line in which it begins.
type located struct {
	Text string
	Line int
}

// Row is a line of a table.
type Row struct {
	Cells []string
	Line  int
}

// Document is a text in blocks, with facts that apply to all of it.
type Document struct {
	Blocks []Block
	Locale number.Locale
	// operations is the largest number of operations that is stated, 0 if none.
	Operations float64
	Repeated   bool // runs, repetitions or an interval are stated
}

var (
	fence      = pattern.Of("^ {0,3}(```|~~~)")
	heading    = pattern.Of(`^ {0,3}#{1,6} +`)
	bullet     = pattern.Of(`^ *(?:[-*+\x{2022}]|[0-9]{1,3}[.)]) +`)
	quoteMark  = pattern.Of(`^ {0,3}(?:> ?)+`)
	ruler      = pattern.Of(`^[ \t|:+\-=]*-{2,}[ \t|:+\-=]*$`)
	columnGap  = pattern.Of(`\t+ *| {2,}\t*`)
	linkForm   = pattern.Of(`!?\[([^\[\]]*)\]\([^()\s]*(?: "[^"]*")?\)`)
	tagForm    = pattern.Of(`</?[a-zA-Z][^<>]{0,200}>`)
	commentTag = pattern.Of(`(?s)<!--.*?-->`)
	linkTarget = pattern.Of(`\bhttps?://\S+`)
)

// Split parses text or Markdown into blocks.
func Split(text string) *Document {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	text = commentTag().ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
	d := &Document{Locale: number.LocaleOf(text)}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); {
		switch n := tableLines(lines[i:]); {
		case fence().MatchString(lines[i]):
			i = d.code(lines, i)
		case indented(lines, i):
			i = d.indentedCode(lines, i)
		case n > 0:
			d.tableOf(lines, i, n)
			i += n
		case strings.TrimSpace(lines[i]) == "":
			i++
		default:
			i = d.prose(lines, i)
		}
	}
	return d
}

// code adds a fenced block and returns the line after it.
func (d *Document) code(lines []string, at int) int {
	mark := fence().FindStringSubmatch(lines[at])[1]
	end := at + 1
	for end < len(lines) && !strings.HasPrefix(strings.TrimLeft(lines[end], " "), mark) {
		end++
	}
	d.Blocks = append(d.Blocks, Block{Kind: CodeBlock, Line: at + 1, Text: strings.Join(lines[at+1:min(end, len(lines))], "\n")})
	return end + 1
}

// indented reports whether an indented code block begins at a line: four spaces after a blank
// line, outside lists.
func indented(lines []string, at int) bool {
	if !strings.HasPrefix(lines[at], "    ") && !strings.HasPrefix(lines[at], "\t") || strings.TrimSpace(lines[at]) == "" || bullet().MatchString(lines[at]) {
		return false
	}
	if at < 2 {
		return false
	}
	for k := at - 2; k >= max(0, at-20); k-- {
		if strings.TrimSpace(lines[k]) != "" {
			return strings.TrimSpace(lines[at-1]) == "" && !bullet().MatchString(lines[k]) && !strings.HasPrefix(lines[k], " ")
		}
	}
	return false
}

// indentedCode adds an indented code block and returns the line after it.
func (d *Document) indentedCode(lines []string, at int) int {
	end := at
	for end < len(lines) && (strings.HasPrefix(lines[end], "    ") || strings.HasPrefix(lines[end], "\t")) {
		end++
	}
	d.Blocks = append(d.Blocks, Block{Kind: CodeBlock, Line: at + 1, Text: strings.Join(lines[at:end], "\n")})
	return end
}

// tableLines is the number of lines of a table that begins here, 0 for none.
func tableLines(lines []string) int {
	cells := cellsOf(lines[0])
	if len(cells) < 2 {
		return 0
	}
	piped := strings.HasPrefix(strings.TrimSpace(lines[0]), "|")
	if !piped && (len(lines) < 2 || !ruler().MatchString(lines[1]) && (len(cells) < 3 || len(cellsOf(lines[1])) != len(cells) || !number.HasDigit(lines[1]))) {
		return 0
	}
	n := 1
	for n < len(lines) && (ruler().MatchString(lines[n]) || len(cellsOf(lines[n])) >= 2) {
		n++
	}
	return n
}

// significance ends the rows of benchstat.
var significance = pattern.Of(` *\(p=[0-9.]+(?: n=[0-9+]+)?\)$`)

// cellsOf splits a line of a table; fewer than two cells are no table.
func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	var cells []string
	switch {
	case strings.Contains(line, "|"):
		line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
		cells = strings.Split(line, "|")
	case !bullet().MatchString(line) && !heading().MatchString(line):
		cells = columnGap().Split(significance().ReplaceAllString(line, ""), 64)
	}
	for i := range cells {
		cells[i] = clean(strings.TrimSpace(cells[i]))
	}
	return cells
}

func (d *Document) tableOf(lines []string, at, n int) {
	b := Block{Kind: TableBlock, Line: at + 1}
	for i := at; i < at+n; i++ {
		if !ruler().MatchString(lines[i]) {
			b.Rows = append(b.Rows, Row{cellsOf(lines[i]), i + 1})
		}
	}
	d.Blocks = append(d.Blocks, b)
}

// prose adds a paragraph, a heading or a list item and returns the line after it.
func (d *Document) prose(lines []string, at int) int {
	var text strings.Builder
	var begins []int // offset in text of each line
	first := at
	for ; at < len(lines); at++ {
		line := quoteMark().ReplaceAllString(lines[at], "")
		stop := strings.TrimSpace(line) == "" || fence().MatchString(lines[at]) || tableLines(lines[at:]) > 0
		if at > first && (stop || heading().MatchString(line) || bullet().MatchString(line)) {
			break
		}
		begins = append(begins, text.Len())
		line = bullet().ReplaceAllString(heading().ReplaceAllString(line, ""), "")
		text.WriteString(strings.TrimSpace(clean(line)) + " ")
		if heading().MatchString(lines[at]) {
			at++
			break
		}
	}
	b := Block{Kind: proseBlock, Line: first + 1, Text: strings.TrimSpace(text.String())}
	line := 0
	for _, s := range Sentences(text.String()) {
		for line+1 < len(begins) && begins[line+1] <= s.Line {
			line++
		}
		b.Sentences = append(b.Sentences, located{s.Text, first + 1 + line})
	}
	d.Blocks = append(d.Blocks, b)
	return at
}

// clean removes inline markup of Markdown and HTML.
func clean(s string) string {
	s = linkForm().ReplaceAllString(s, "$1")
	s = linkTarget().ReplaceAllString(s, "link")
	s = tagForm().ReplaceAllString(s, " ")
	s = strings.NewReplacer("**", "", "__", "", "`", "", "*", "", "\\|", "/").Replace(s)
	return html.UnescapeString(s)
}

// Sentences splits a paragraph. The line of each is its offset in the text.
func Sentences(text string) []located {
	var all []located
	from := 0
	cutAt := func(to int) {
		if s := strings.TrimSpace(text[from:to]); s != "" {
			lead := len(text[from:to]) - len(strings.TrimLeft(text[from:to], " "))
			all = append(all, located{s, from + lead})
		}
		from = to
	}
	for i := 0; i < len(text); i++ {
		if c := text[i]; c != '.' && c != '!' && c != '?' {
			continue
		}
		end := i + 1
		for end < len(text) && strings.ContainsRune(`)"'`, rune(text[end])) {
			end++
		}
		if end >= len(text) || text[end] != ' ' {
			continue
		}
		rest := strings.TrimLeft(text[end:], ` ("'`)
		next, _ := utf8.DecodeRuneInString(rest)
		word := strings.ToLower(text[max(from, strings.LastIndexByte(text[:i], ' ')+1) : i+1])
		if unicode.IsLower(next) || number.Abbreviations[strings.TrimLeft(word, "(")] {
			continue
		}
		cutAt(end)
	}
	cutAt(len(text))
	return all
}

var (
	operationNouns = number.Set("cycle request operation transaction query call write read op io order message")
	repetition     = pattern.Of(`(?i)\b(?:[2-9]|[1-9][0-9]+|two|three|four|five|six|ten|twelve|several|repeated) (?:\w+ )?(?:runs|repetitions|repeats|trials|blocks|iterations|samples|measurements)\b|confidence interval|confidence level|standard deviation|\bCI\b|\x{b1}|\+/-`)
)

// Facts collects what one part of a text states and others need.
func (d *Document) Facts() {
	look := func(text string) {
		d.Repeated = d.Repeated || repetition().MatchString(text)
		if !number.HasDigit(text) {
			return
		}
		tokens := d.Locale.Lex(text)
		for k := range tokens {
			if q := tokens[k].Num; q != nil && q.Value > d.Operations && q.Value >= 1000 && q.Unit.Dim != number.DimRate && ofOperations(tokens, k) {
				d.Operations = q.Value
			}
		}
	}
	for _, b := range d.Blocks {
		for _, s := range b.Sentences {
			look(s.Text)
		}
		for _, r := range b.Rows {
			for _, c := range r.Cells {
				look(c)
			}
		}
	}
}

// ofOperations reports whether a number counts operations: "600 M cycles", "one request
// of the 600,000,000".
func ofOperations(tokens []number.Token, k int) bool {
	if q := tokens[k].Num; q.Unit.Dim == number.DimCount {
		return number.IntersectSet(q.Nouns, operationNouns)
	}
	for at := k - 1; at >= max(0, k-3); at-- {
		if operationNouns[number.Singular(tokens[at].Text)] {
			return tokens[at+1].Word == "of"
		}
	}
	return false
}
