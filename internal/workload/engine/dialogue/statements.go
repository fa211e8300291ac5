package dialogue

import (
	"slices"
	"strings"

	"plimsoll/internal/wire"
	"plimsoll/internal/workload/engine"
)

// Begin is when BEGIN is sent.
type Begin uint8

// The ways to begin.
const (
	Joined Begin = iota // with the statements of the first round
	Apart               // in a round of its own
	Never               // autocommit
)

// Statements are those of a script, and those that begin and end a transaction.
type Statements struct {
	*engine.Statements
	Begin Begin
	begin int // number in the book; COMMIT and ROLLBACK follow it
}

// NewBook prepares a script for servers of a protocol. Statements keep their index in the
// list.
func NewBook(protocol string, list []engine.Statement) *Statements {
	all := append(slices.Clip(list),
		engine.Statement{Name: "begin", SQL: "BEGIN", Plain: true},
		engine.Statement{Name: "commit", SQL: "COMMIT", Plain: true},
		engine.Statement{Name: "rollback", SQL: "ROLLBACK", Plain: true})
	return &Statements{Statements: engine.NewBook(protocol, all), begin: len(list)}
}

// number is that of COMMIT or ROLLBACK.
func (k *Statements) number(s Step) int {
	if s == Commit {
		return k.begin + 1
	}
	return k.begin + 2
}

// Session is a session that has not started, with the statements of the book. The isolation is
// a level of the SQL standard, or empty for the server's default.
func (k *Statements) Session(who wire.Account, isolation string) *engine.Session {
	var first []string
	if k.Protocol() == engine.MariaDB && k.Begin != Never {
		first = append(first, engine.NoCommit)
	}
	if isolation != "" {
		first = append(first, engine.Isolate(k.Protocol(), isolation))
	}
	return engine.NewSession(who, strings.Join(first, "; "), k.Statements)
}
