package dataset

import (
	"context"
	"fmt"
	"strconv"

	"plimsoll/internal/workload/engine"
)

// rows fill a table.
type rows struct {
	table, columns string
	start          func() func(b []byte) (rows []byte, more bool)
	most           int // bytes per transaction
}

// Rows is a job that loads a table; columns are listed in parentheses unless they are all.
// Start restarts the generation of rows, in the text format of COPY, which must be
// deterministic.
func Rows(label, table, columns string, start func() func(b []byte) (rows []byte, more bool)) Job {
	r := &rows{table, columns, start, mostPart}
	return Job{Label: label, rows: r, Do: func(ctx context.Context, s engine.Conn) error { return s.Fill(ctx, table, columns, start()) }}
}

// mostPart is the number of bytes per transaction: it bounds the undo data of the server, and
// the work that an interruption loses.
const mostPart = 32 << 20

// progress is the note with the number of calls written for a rows job.
func progress(label string) string { return label + ", calls" }

// fill resumes the generation of rows, and records its progress with each transaction.
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
