package wire

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/charset"
)

// Shape reports whether rows can be the answer to SQL: each has as many columns as a SELECT or a
// SHOW asks for, and an aggregate of a whole table has a row. A server that answers otherwise
// is none that its client can go by.
func Shape(sql string, rows [][]string) error {
	least, width := 0, -1
	for _, statement := range statements(sql) {
		columns, always := asked(statement)
		if width < 0 || columns < width {
			width = columns
		}
		if always {
			least++
		}
	}
	if len(rows) < least {
		return fmt.Errorf("%d rows in the response; expected at least %d", len(rows), least)
	}
	for _, row := range rows {
		if len(row) < width {
			return fmt.Errorf("%d columns in the response; expected at least %d", len(row), width)
		}
	}
	return nil
}

var (
	// aggregates begin the first column of a SELECT that has one row, whatever the table holds.
	aggregates = []string{"count", "sum", "min", "max", "avg"}
	// grouping tells the aggregates that may have no row.
	grouping = []string{"GROUP", "HAVING", "LIMIT", "OVER", "UNION", "FILTER"}
	// following ends a select list.
	following = []string{"FROM", "UNION", "EXCEPT", "INTERSECT", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "INTO"}
)

// among reports whether a word is one of a list, in capitals or not.
func among(list []string, word string) bool {
	return slices.ContainsFunc(list, func(one string) bool { return strings.EqualFold(one, word) })
}

// hasRow reports whether a SELECT has a row in any case, by its select list and what follows.
func hasRow(list string) bool {
	function, _, called := strings.Cut(list, "(")
	if !called || !among(aggregates, strings.Trim(function, charset.Space)) {
		return false
	}
	for word := range strings.FieldsFuncSeq(list, func(r rune) bool { return !strings.ContainsRune(charset.Letters+charset.Digits+"_", r) }) {
		if among(grouping, word) {
			return false
		}
	}
	return true
}

// asked is how many columns each row of a statement has at least, and whether there is one in
// any case.
func asked(statement string) (columns int, always bool) {
	words := strings.Fields(statement)
	switch {
	case len(words) < 2:
		return 0, false
	case strings.EqualFold(words[0], "SHOW"):
		switch strings.ToUpper(words[1]) {
		case "GLOBAL", "SESSION", "STATUS", "VARIABLES": // of MariaDB
			return 2, false
		}
		return 1, len(words) == 2
	case !strings.EqualFold(words[0], "SELECT"):
		return 0, false
	}
	list := strings.TrimSpace(statement)[len("SELECT"):]
	return listed(list), hasRow(list)
}

// listed counts the columns of a select list; 0 where a star stands for some.
func listed(list string) int {
	columns, starred := 1, false
	outside(list, func(i int) bool {
		switch rest := list[i:]; {
		case rest[0] == ',':
			columns++
		case rest[0] == '*':
			starred = true
		case i > 0 && strings.ContainsRune(" \t\n)", rune(list[i-1])) && ends(rest):
			return false
		}
		return true
	})
	if starred {
		return 0
	}
	return columns
}

// ends reports whether a select list ends before the rest of its statement.
func ends(rest string) bool {
	space := strings.IndexAny(rest, charset.Space)
	return space > 0 && among(following, rest[:space])
}

// statements are separated by semicolons.
func statements(sql string) (all []string) {
	from := 0
	outside(sql, func(i int) bool {
		if sql[i] == ';' {
			all, from = append(all, sql[from:i]), i+1
		}
		return true
	})
	if strings.TrimSpace(sql[from:]) != "" {
		all = append(all, sql[from:])
	}
	return all
}

// outside calls visit for each byte outside of quotes and parentheses, until that is false.
func outside(sql string, visit func(i int) bool) {
	depth, quote := 0, byte(0)
	for i := range len(sql) {
		switch c := sql[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"' || c == '`':
			quote = c
		case c == '(' || c == '[':
			depth++
		case c == ')' || c == ']':
			depth--
		case depth == 0:
			if !visit(i) {
				return
			}
		}
	}
}
