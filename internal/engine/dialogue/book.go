package dialogue

import (
	"slices"

	"plimsoll/internal/engine"
	"plimsoll/internal/postgres"
)

// Book is the statements of a script, and those that begin and end a transaction.
type Book struct {
	*engine.Book
	begin int // number in the book; COMMIT and ROLLBACK follow it
}

// NewBook makes the book of a script on servers of a protocol. Statements keep their
// numbers in the list.
func NewBook(protocol string, list []engine.Statement) *Book {
	all := append(slices.Clip(list),
		engine.Statement{Name: "begin", SQL: "BEGIN", Plain: true},
		engine.Statement{Name: "commit", SQL: "COMMIT", Plain: true},
		engine.Statement{Name: "rollback", SQL: "ROLLBACK", Plain: true})
	return &Book{engine.NewBook(protocol, all), len(list)}
}

// number is that of COMMIT or ROLLBACK.
func (k *Book) number(s Step) int {
	if s == Commit {
		return k.begin + 1
	}
	return k.begin + 2
}

// Session is a session that was not begun, with the statements of the book. Transactions
// are kept apart as the isolation says, which is a level of the SQL standard.
func (k *Book) Session(who postgres.Account, isolation string) *engine.Session {
	first := engine.Isolate(k.Protocol(), isolation)
	if k.Protocol() == engine.MariaDB {
		first = engine.NoCommit + "; " + first
	}
	return engine.NewSession(who, first, k.Book)
}
