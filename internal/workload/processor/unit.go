package processor

import "hash/fnv"

// knownText is the size of a text whose answer was computed on machines that are trusted.
const (
	knownText   = 64 << 10
	knownAnswer = 0x9f09ff936aff0e70
)

// answer takes a text apart, builds its trees, folds what is constant, emits code and
// sums it up. Whatever does not look like a statement is passed over.
func answer(text []byte) uint64 {
	u := &unit{text: text, symbols: map[string]*symbol{}}
	for u.advance(); u.word != 0; {
		u.statement()
	}
	sum := fnv.New64a()
	_, _ = sum.Write(u.code) // a hash takes everything
	return sum.Sum64() ^ uint64(len(u.symbols))<<32 ^ u.total
}

// unit is a text that is being worked on.
type unit struct {
	text    []byte
	at      int
	word    byte   // kind of the current word: 'n' a name, '0' a number, else itself; 0 at the end
	start   int    // where it begins
	number  uint64 // its value
	symbols map[string]*symbol
	code    []byte
	total   uint64
}

// symbol is a name with what is known of it.
type symbol struct {
	number uint64
	used   int
	value  *node // of its last statement
}

// node is a part of an expression.
type node struct {
	operator    byte // 'n', '0', or that of its two parts
	left, right *node
	symbol      *symbol
	value       uint64
}

// advance goes to the next word.
func (u *unit) advance() {
	for u.at < len(u.text) && (u.text[u.at] == ' ' || u.text[u.at] == '\n') {
		u.at++
	}
	u.start = u.at
	if u.at == len(u.text) {
		u.word = 0
		return
	}
	u.word = u.text[u.at]
	u.at++
	if u.word != 'n' && !digit(u.word) {
		return
	}
	u.number = 0
	if u.word != 'n' {
		u.number, u.word = uint64(u.word-'0'), '0'
	}
	for u.at < len(u.text) && digit(u.text[u.at]) {
		u.number = u.number*10 + uint64(u.text[u.at]-'0')
		u.at++
	}
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

// statement is a name, =, an expression and a semicolon.
func (u *unit) statement() {
	if u.word != 'n' {
		u.advance()
		return
	}
	to := u.symbol()
	u.advance()
	if u.word != '=' {
		return
	}
	u.advance()
	tree := fold(u.expression(0))
	to.value = tree
	u.emit(tree)
	u.code = append(u.code, '=', byte(to.number), byte(to.number>>8))
	u.total = u.total*31 + tree.value
}

// symbol is that of the current word.
func (u *unit) symbol() *symbol {
	name := string(u.text[u.start:u.at])
	s := u.symbols[name]
	if s == nil {
		s = &symbol{number: u.number}
		u.symbols[name] = s
	}
	s.used++
	return s
}

// strength is how much more tightly than others an operator binds; 0 is no operator.
func strength(operator byte) int {
	switch operator {
	case '&', '^':
		return 1
	case '+', '-':
		return 2
	case '*':
		return 3
	}
	return 0
}

// expression climbs by precedence.
func (u *unit) expression(least int) *node {
	left := u.operand()
	for {
		operator, s := u.word, strength(u.word)
		if s == 0 || s <= least {
			return left
		}
		u.advance()
		left = &node{operator: operator, left: left, right: u.expression(s)}
	}
}

func (u *unit) operand() *node {
	n := &node{operator: u.word, value: u.number}
	switch u.word {
	case '(':
		u.advance()
		n = u.expression(0)
	case 'n':
		n.symbol = u.symbol()
	case '0':
	default:
		return &node{operator: '0'}
	}
	u.advance()
	return n
}

// fold returns a tree in which what is constant has been computed.
func fold(n *node) *node {
	if strength(n.operator) == 0 {
		return n
	}
	folded := &node{operator: n.operator, left: fold(n.left), right: fold(n.right)}
	a, b := folded.left.value, folded.right.value
	switch n.operator {
	case '&':
		folded.value = a & b
	case '^':
		folded.value = a ^ b
	case '+':
		folded.value = a + b
	case '-':
		folded.value = a - b
	case '*':
		folded.value = a * b
	}
	if folded.left.operator == '0' && folded.right.operator == '0' {
		return &node{operator: '0', value: folded.value}
	}
	return folded
}

// emit writes the code of a tree for a machine with a stack.
func (u *unit) emit(n *node) {
	switch {
	case n.symbol != nil:
		u.code = append(u.code, 'n', byte(n.symbol.number), byte(n.symbol.number>>8), byte(n.symbol.used))
	case strength(n.operator) > 0:
		u.emit(n.left)
		u.emit(n.right)
		u.code = append(u.code, n.operator)
	default:
		u.code = append(u.code, '0', byte(n.value), byte(n.value>>8), byte(n.value>>16), byte(n.value>>24))
	}
}
