package document

import "strings"

// section is a YAML list with one item per line, as snapshots are written:
//
// vms:
// - {name: web-1, vcpus: 4}
//
// It is parsed without the YAML parser, which takes forty times as long.
type section struct {
	key    string
	line   int32 // of the key
	column int32 // of its items
	from   int   // the lines of its items
	to     int
	items  *items
}

// sections finds those lists, and returns the text with their lines empty. Ambiguous text is
// left to the parser: sections are used only if the parser then finds their keys in the root
// mapping, without a value.
func sections(text string) (list []section, rest string) {
	if strings.ContainsAny(text, "\r\u0085\u2028\u2029") {
		return nil, text // line breaks of which the YAML parser counts lines
	}
	var b strings.Builder
	line := int32(1)
	for at := 0; at < len(text); {
		end := lineEnd(text, at)
		if key := sectionKey(text[at:end]); key != "" {
			if s, ok := readSection(text, end, line+1); ok {
				s.key, s.line = key, line
				list = append(list, s)
				b.WriteString(text[at:end])
				for range strings.Count(text[s.from:s.to], "\n") {
					b.WriteByte('\n')
					line++
				}
				at, line = s.to, line+1
				continue
			}
		}
		b.WriteString(text[at:end])
		at, line = end, line+1
	}
	return list, b.String()
}

// lineEnd is where the next line begins.
func lineEnd(text string, at int) int {
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}

// sectionKey is the key of a line of nothing else; empty if there is none.
func sectionKey(line string) string {
	key, found := strings.CutSuffix(strings.TrimRight(line, " \n"), ":")
	if !found || !plainWord(key) || !strings.HasSuffix(line, "\n") {
		return ""
	}
	return key
}

// readSection reads items up to the next key at the beginning of a line. Blank lines and
// lines of comments may stand between them.
func readSection(text string, at int, line int32) (s section, ok bool) {
	j := &textReader{text: text, flow: true}
	s = section{from: at, items: &items{reader: j}}
	indent := -1
	for ; at < len(text); line++ {
		end := lineEnd(text, at)
		item := strings.TrimLeft(text[at:end], " ")
		switch {
		case strings.TrimRight(item, "\n") == "":
		case item[0] == '#' && printable(strings.TrimRight(item, "\n")):
		case strings.HasPrefix(item, "- "):
			in := len(text[at:end]) - len(item)
			if indent >= 0 && in != indent {
				return s, false
			}
			indent, s.column = in, int32(in)+1
			j.at, j.counted, j.line, j.column = at+in+1, at, line, 1
			if j.next() != '{' || s.items.add(j) != nil {
				return s, false
			}
			if j.space(); j.at < len(text) && text[j.at] != '\n' {
				return s, false
			}
		case indent >= 0 && beginsKey(text[at:end]):
			s.to = at
			return s, true
		default:
			return s, false
		}
		at = end
	}
	s.to = at
	return s, indent >= 0
}

// beginsKey reports whether a line begins with a key, so that it is no value of the one before.
func beginsKey(line string) bool {
	key, after, found := strings.Cut(line, ":")
	return found && plainWord(key) && (after == "" || after[0] == ' ' || after[0] == '\n')
}

// attach sets the lists of the root's keys. It reports whether all of them are at their lines.
func attach(root *Node, all []section) bool {
	for i := range all {
		s := &all[i]
		found := false
		for k := 0; k+1 < len(root.Kids) && !found; k += 2 {
			key, value := &root.Kids[k], &root.Kids[k+1]
			if found = key.Kind == Scalar && !key.Quoted && key.Text == s.key && key.Line == s.line && value.Empty(); found {
				first := s.items.spans[0]
				*value = Node{Kind: List, Line: first.line, Column: s.column, items: s.items}
			}
		}
		if !found {
			return false
		}
	}
	return root.Kind == Mapping
}
