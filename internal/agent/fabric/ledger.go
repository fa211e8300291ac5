package fabric

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Record is one durable record of an agent as the lab has it.
type Record struct {
	Agent  string          `json:"agent"` // public key
	Spool  string          `json:"spool"`
	Number uint64          `json:"number"`
	Data   json.RawMessage `json:"data"`
}

// Ledger is where the lab keeps records: a file with a JSON value on a line
// each, appended and synced before agents hear that a record arrived. A last line that
// a crash left half written is cut off; its agent sends it again.
type Ledger struct {
	mu   sync.Mutex
	file *os.File
	size int64
	torn bool
	last map[string]uint64 // by agent and spool
}

// OpenLedger opens the ledger in a folder, or makes it.
func OpenLedger(folder string) (*Ledger, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(folder, "records.jsonl"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the ledger: %w", err)
	}
	l := &Ledger{file: f, last: map[string]uint64{}, torn: true}
	if err := l.scan(); err != nil {
		return nil, errors.Join(fmt.Errorf("open the ledger: %w", err), f.Close())
	}
	return l, nil
}

func (l *Ledger) scan() error {
	r := bufio.NewReaderSize(l.file, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return l.mend()
		}
		if err != nil {
			return err
		}
		var rec Record
		if err := json.Unmarshal(line, &rec); err != nil {
			return fmt.Errorf("%s is damaged at byte %d: %w", l.file.Name(), l.size, err)
		}
		l.size += int64(len(line))
		l.last[rec.Agent+rec.Spool] = rec.Number
	}
}

func (l *Ledger) mend() error {
	if !l.torn {
		return nil
	}
	if err := l.file.Truncate(l.size); err != nil {
		return err
	}
	_, err := l.file.Seek(l.size, io.SeekStart)
	l.torn = err != nil
	return err
}

// Last is the number of the newest record of a spool.
func (l *Ledger) Last(agent, spool string) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[agent+spool]
}

// skip says that another lab has all records of a spool before first.
func (l *Ledger) skip(agent, spool string, first uint64) (missed uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.last[agent+spool]
	if first <= last+1 {
		return 0
	}
	l.last[agent+spool] = first - 1
	return first - 1 - last
}

// Append adds those records that follow the newest of their spool, in one
// write; others are passed over, because they are there already or come again.
// When it fails, none was added.
func (l *Ledger) Append(records []Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.mend(); err != nil {
		return fmt.Errorf("append to the ledger: %w", err)
	}
	var b bytes.Buffer
	fresh := map[string]uint64{}
	for _, r := range records {
		key := r.Agent + r.Spool
		last, seen := fresh[key]
		if !seen {
			last = l.last[key]
		}
		if r.Number != last+1 {
			continue
		}
		text, err := json.Marshal(r)
		if err != nil {
			continue // not JSON: the lab checked before
		}
		b.Write(append(text, '\n'))
		fresh[key] = r.Number
	}
	if b.Len() == 0 {
		return nil
	}
	l.torn = true
	_, err := l.file.Write(b.Bytes())
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("append to the ledger: %w", err), l.mend())
	}
	l.torn = false
	l.size += int64(b.Len())
	for key, number := range fresh {
		l.last[key] = number
	}
	return nil
}

// Read calls f for each record, oldest first.
func (l *Ledger) Read(f func(Record) error) error {
	l.mu.Lock()
	size := l.size
	l.mu.Unlock()
	d := json.NewDecoder(io.NewSectionReader(l.file, 0, size))
	for {
		var r Record
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the ledger: %w", err)
		}
		if err := f(r); err != nil {
			return err
		}
	}
}

// Close lets the file go.
func (l *Ledger) Close() error { return l.file.Close() }
