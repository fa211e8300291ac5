package mysql

import "errors"

// answer is the parser state of a response.
type answer struct {
	parameters int // definitions that are still to come
	columns    int
	rows       bool // rows follow
	status     Status
}

// mostColumns is above the column limit of a table.
const mostColumns = 1 << 13

// hear handles a packet of a response. The types are those of its columns, which the response
// may redefine.
func (a *answer) hear(body, types []byte) (Event, []byte, error) {
	var err error
	switch {
	case len(body) == 0:
		return Nothing, types, errors.New("empty response packet")
	case body[0] == headFailure:
		*a = answer{}
		return Failed, types, nil
	case a.columns > 0:
		types, err = appendType(types, body)
		a.columns--
		return Nothing, types, err
	case a.rows && !ending(body):
		return ARow, types, nil
	case a.rows || body[0] == headOK:
		a.rows = false
		if a.status, err = readOK(body); err != nil || a.status&statusMoreResults != 0 {
			return Nothing, types, err
		}
		return Done, types, nil
	case body[0] == headFile:
		return Nothing, types, errors.New("unexpected LOCAL INFILE request")
	}
	n, used := number(body)
	if used == 0 || n > mostColumns {
		return Nothing, types, errors.New("malformed response to a statement")
	}
	a.rows = true
	if len(body) == used || body[used] != 0 {
		a.columns, types = int(n), types[:0]
	}
	return Nothing, types, nil
}

// appendType appends the type of a column from its definition.
func appendType(types, body []byte) ([]byte, error) {
	rest, ok := body, true
	for range 6 { // catalog, schema, table and name, the last two with aliases
		if _, rest, ok = text(rest); !ok {
			break
		}
	}
	const at = 1 + 2 + 4 // length of the fixed fields, character set, width
	if !ok || len(rest) <= at {
		return types, errors.New("malformed column definition")
	}
	return append(types, rest[at]), nil
}
