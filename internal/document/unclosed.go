package document

// unclosed finds the innermost unclosed bracket or quote of YAML; nil if there is none. The
// parser reports only the line before.
func unclosed(data []byte) *Node {
	var open []Node
	var quote Node
	line, column := int32(1), int32(0)
	last := byte('\n') // that was no space
	in := byte(0)      // the kind of quote
	for i := 0; i < len(data); i++ {
		c := data[i]
		if column++; c&0xc0 == 0x80 {
			column--
		}
		starts := last == '\n' || last == ':' || last == '-' || last == ',' || last == '[' || last == '{'
		switch {
		case in == '"' && c == '\\':
			i++
			column++
		case in != 0:
			if c == in {
				in = 0
			}
		case c == '#' && (i == 0 || data[i-1] == ' ' || data[i-1] == '\n'):
			for i+1 < len(data) && data[i+1] != '\n' {
				i++
			}
		case (c == '"' || c == '\'') && starts:
			in, quote = c, Node{Line: line, Column: column}
		case (c == '[' || c == '{') && (starts || len(open) > 0):
			open = append(open, Node{Line: line, Column: column})
		case (c == ']' || c == '}') && len(open) > 0:
			open = open[:len(open)-1]
		}
		if c == '\n' {
			line, column = line+1, 0
		}
		if c != ' ' && c != '\t' && c != '\r' {
			last = c
		}
	}
	switch {
	case in != 0:
		return &quote
	case len(open) > 0:
		return &open[len(open)-1]
	}
	return nil
}
