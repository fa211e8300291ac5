package oltp

import (
	"fmt"

	"plimsoll/internal/engine"
)

// step is a statement of a transaction.
type step uint8

const (
	point step = iota
	simpleRange
	sumRange
	orderRange
	distinctRange
	indexUpdate
	otherUpdate
	deleteRow
	insertRow
	steps // how many there are for each table
	begin
	commit
)

var texts = [steps]string{
	point:         "SELECT c FROM sbtest%d WHERE id = $1",
	simpleRange:   "SELECT c FROM sbtest%d WHERE id BETWEEN $1 AND $2",
	sumRange:      "SELECT sum(k) FROM sbtest%d WHERE id BETWEEN $1 AND $2",
	orderRange:    "SELECT c FROM sbtest%d WHERE id BETWEEN $1 AND $2 ORDER BY c",
	distinctRange: "SELECT DISTINCT c FROM sbtest%d WHERE id BETWEEN $1 AND $2 ORDER BY c",
	indexUpdate:   "UPDATE sbtest%d SET k = k + 1 WHERE id = $1",
	otherUpdate:   "UPDATE sbtest%d SET c = $2 WHERE id = $1",
	deleteRow:     "DELETE FROM sbtest%d WHERE id = $1",
	insertRow:     "INSERT INTO sbtest%d (id, k, c, pad) VALUES ($1, $2, $3, $4)",
}

var formats = [steps][]engine.Format{
	point: {number}, simpleRange: {number, number}, sumRange: {number, number}, orderRange: {number, number}, distinctRange: {number, number},
	indexUpdate: {number}, otherUpdate: {number, text}, deleteRow: {number}, insertRow: {number, number, text, text},
}

const (
	number = engine.AsInt
	text   = engine.AsText
)

var (
	reads  = []step{point, point, point, point, point, point, point, point, point, point, simpleRange, sumRange, orderRange, distinctRange}
	writes = []step{indexUpdate, otherUpdate, deleteRow, insertRow}
)

// plan is the statements of a transaction of a test.
func plan(test string) []step {
	all := []step{begin}
	switch test {
	case pointSelect:
		return []step{point} // a transaction by itself
	case "read_only":
		all = append(all, reads...)
	case "write_only":
		all = append(all, writes...)
	default:
		all = append(append(all, reads...), writes...)
	}
	return append(all, commit)
}

// book is the statements of a test, prepared for each table.
type book struct {
	plan   []step
	tables [][steps]int // numbers of statements; those of steps that the test does not have are 0
	*engine.Book
}

// The numbers of statements that are not about a table.
const (
	beginNumber = iota
	commitNumber
	undoNumber
)

func newBook(protocol, test string, tables int) *book {
	list := []engine.Statement{{Name: "begin", SQL: "BEGIN", Plain: true}, {Name: "commit", SQL: "COMMIT", Plain: true}, {Name: "rollback", SQL: "ROLLBACK", Plain: true}}
	b := &book{plan: plan(test), tables: make([][steps]int, tables)}
	for n := range b.tables {
		for _, s := range b.plan {
			if s < steps && b.tables[n][s] == 0 {
				b.tables[n][s] = len(list)
				list = append(list, engine.Statement{Name: fmt.Sprintf("s%d_%d", s, n+1), SQL: fmt.Sprintf(texts[s], n+1), Parameters: formats[s]})
			}
		}
	}
	b.Book = engine.NewBook(protocol, list)
	return b
}
