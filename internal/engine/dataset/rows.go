package dataset

import (
	"context"
	"fmt"
	"strconv"

	"plimsoll/internal/engine"
)

// rows fill a table.
type rows struct {
	table, columns string
	start          func() func(b []byte) (rows []byte, more bool)
	most           int // bytes of a part
}

// Rows is a job that fills a table, whose columns are named in parentheses where they are
// not all. Start begins anew with the rows, in the text format of COPY, and has to make the
// same ones each time.
func Rows(label, table, columns string, start func() func(b []byte) (rows []byte, more bool)) Job {
	r := &rows{table, columns, start, mostPart}
	return Job{Label: label, rows: r, Do: func(ctx context.Context, s engine.Conn) error { return s.Fill(ctx, table, columns, start()) }}
}

// mostPart is how many bytes of rows make a transaction. A server keeps with each what takes
// it back, and a part that was interrupted is all that has to be taken back.
const mostPart = 32 << 20

// progress is the note of how many calls for rows of a job were written.
func progress(label string) string { return label + ", calls" }

// fill writes rows from where it was left, and notes with each part how far it is.
func (j Job) fill(ctx context.Context, s engine.Conn) error {
	next, calls, more := j.rows.start(), 0, true
	if j.from != "" {
		done, err := strconv.Atoi(j.from)
		if err != nil {
			return fmt.Errorf("resume the interrupted load of data: %w", err)
		}
		for b := []byte(nil); calls < done; calls++ {
			b, _ = next(b[:0])
		}
	}
	for first := j.from == ""; ; first = false {
		if err := s.Exec(ctx, "BEGIN"); err != nil {
			return err
		}
		sent := 0
		if err := s.Fill(ctx, j.rows.table, j.rows.columns, func(b []byte) ([]byte, bool) {
			before := len(b)
			b, more = next(b)
			calls++
			sent += len(b) - before
			return b, more && sent < j.rows.most
		}); err != nil {
			return err
		}
		end := note(j.Label, "yes")
		switch {
		case more && first:
			end = note(progress(j.Label), strconv.Itoa(calls))
		case more:
			end = fmt.Sprintf("UPDATE plimsoll SET value = '%d' WHERE setting = '%s'", calls, progress(j.Label))
		}
		if err := s.Exec(ctx, end+"; COMMIT"); err != nil || !more {
			return err
		}
	}
}
