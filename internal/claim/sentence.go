package claim

import "strings"

// sentence is a sentence with what was understood of it.
type sentence struct {
	text      string
	tokens    []token
	numbers   []int // tokens that are numbers
	condition map[int]bool
	load      map[int]int // a value's condition
	level     map[int]bool
	used      map[int]bool
	pairs     []pair
	sayings   []saying
	before    *sentence // the one before it in the paragraph that holds numbers
	near      string    // the sentences around it, in lower case
	long      bool
	lists     bool // "respectively": values and changes stand in lists

	candidates []pair // loose pairs, once searched for
	searched   bool
}

func readSentence(l locale, b *block, at int, before *sentence) *sentence {
	s := parse(l, b.sentences[at].text)
	s.before = before
	for i := max(0, at-2); i < min(len(b.sentences), at+3); i++ {
		s.near += strings.ToLower(b.sentences[i].text) + " "
	}
	return s
}

// mostNumbers bounds how many numbers of a sentence are set against each other.
const mostNumbers = 80

func parse(l locale, text string) *sentence {
	s := &sentence{text: text, condition: map[int]bool{}, load: map[int]int{}, level: map[int]bool{}, used: map[int]bool{}}
	s.tokens = l.lex(text)
	for i := range s.tokens {
		if s.tokens[i].num != nil {
			s.numbers = append(s.numbers, i)
		}
	}
	s.long = len(s.tokens) >= mostTokens || len(s.numbers) > mostNumbers
	if s.long {
		return s
	}
	for i := range s.tokens {
		s.lists = s.lists || s.tokens[i].word == "respectively" || s.tokens[i].word == "resp."
	}
	s.findNames()
	s.findConditions()
	s.findPairs()
	s.findSayings()
	s.near = strings.ToLower(text)
	return s
}

func (s *sentence) wordAt(i int) string {
	if i < 0 || i >= len(s.tokens) {
		return ""
	}
	return s.tokens[i].word
}

func (s *sentence) textOf(from, to int) string {
	if from >= to || from < 0 || to > len(s.tokens) {
		return ""
	}
	return s.text[s.tokens[from].from:s.tokens[to-1].to]
}

func (s *sentence) wordMatches(i int, form interface{ MatchString(string) bool }) bool {
	w := s.wordAt(i)
	return w != "" && form.MatchString(w)
}

// stated tells whether a saying of the sentence says that something changed.
func (s *sentence) stated() bool {
	for i := range s.sayings {
		if one := &s.sayings[i]; !s.used[one.from] && one.claims() {
			return true
		}
	}
	return false
}

// claims tells whether a saying is a change by its own words.
func (one *saying) claims() bool {
	return one.direction != 0 || one.good != 0 || one.sign != 0 || one.rounded && !one.of
}
