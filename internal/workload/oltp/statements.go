package oltp

import (
	"fmt"
	"slices"

	"plimsoll/internal/workload/engine"
	"plimsoll/internal/workload/engine/dialogue"
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

// plan is the statements of a transaction of a test, without its begin and end.
func plan(test string) []step {
	switch test {
	case pointSelect:
		return []step{point}
	case "read_only":
		return reads
	case "write_only":
		return writes
	}
	return slices.Concat(reads, writes)
}

// book is the statements of a test, prepared for each table.
type book struct {
	plan   []step
	tables [][steps]int // numbers of statements
	*dialogue.Statements
}

func newBook(protocol string, p Parameters) *book {
	var list []engine.Statement
	b := &book{plan: plan(p.Test), tables: make([][steps]int, p.Tables)}
	for n := range b.tables {
		for s := range steps {
			if slices.Contains(b.plan, s) {
				b.tables[n][s] = len(list)
				list = append(list, engine.Statement{Name: fmt.Sprintf("s%d_%d", s, n+1), SQL: fmt.Sprintf(texts[s], n+1), Parameters: formats[s]})
			}
		}
	}
	b.Statements = dialogue.NewBook(protocol, list)
	switch {
	case p.Test == pointSelect:
		b.Begin = dialogue.Never
	case !p.Pipeline:
		b.Begin = dialogue.Apart
	}
	return b
}
