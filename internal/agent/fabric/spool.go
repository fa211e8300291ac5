package fabric

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// ErrSpoolFull says that the spool holds as much as it may.
var ErrSpoolFull = errors.New("the spool is full: the lab has not acknowledged records for too long")

// Spool keeps an agent's records on disk until the lab has acknowledged them.
// A record that Append took is on disk and gets a number, one above the last;
// it is there again after a crash. A spool has a name of its own: the lab
// counts per spool, so that one that was lost and began anew is not mistaken.
type Spool struct {
	folder, name string
	most         int64 // bytes of records
	write        func(f *os.File, p []byte) (int, error)

	mu       sync.Mutex
	segments []*part // oldest first, at least one
	next     uint64  // number of the next record
	acked    uint64  // all up to here are in the lab
	size     int64
	grown    chan struct{} // gets a token when a record was added
}

const (
	partSuffix  = ".records"
	partLength  = 1 << 20 // bytes after which a new part is begun
	mostSpooled = 256 << 20
)

// OpenSpool opens the spool in a folder, or makes it. At most most bytes of
// records wait in it; zero takes 256 MiB.
func OpenSpool(folder string, most int64) (*Spool, error) {
	if most == 0 {
		most = mostSpooled
	}
	s := &Spool{folder: folder, most: most, next: 1, grown: make(chan struct{}, 1),
		write: func(f *os.File, p []byte) (int, error) { return f.Write(p) }}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open spool %s: %w", folder, err)
	}
	return s, nil
}

func (s *Spool) open() error {
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return err
	}
	if err := s.readName(); err != nil {
		return err
	}
	listed, err := os.ReadDir(s.folder)
	if err != nil {
		return err
	}
	for _, entry := range listed {
		first, ok := partNumber(entry.Name())
		if !ok {
			continue
		}
		p, err := openPart(filepath.Join(s.folder, entry.Name()), first)
		if err != nil {
			return err
		}
		s.segments = append(s.segments, p)
	}
	slices.SortFunc(s.segments, func(a, b *part) int {
		if a.first < b.first {
			return -1
		}
		return 1
	})
	if len(s.segments) == 0 {
		return s.begin()
	}
	for i, p := range s.segments {
		if i > 0 && p.first != s.next {
			return fmt.Errorf("records %d to %d are missing", s.next, p.first-1)
		}
		s.next = p.first + uint64(len(p.ends))
		s.size += p.length()
	}
	s.acked = s.segments[0].first - 1
	return nil
}

// readName reads the spool's name, and makes one for a new spool.
func (s *Spool) readName() error {
	file := filepath.Join(s.folder, "name")
	text, err := os.ReadFile(file)
	if name := strings.TrimSpace(string(text)); err == nil && isSpoolName(name) {
		s.name = name
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	raw := make([]byte, 16)
	if _, err := rand.Read(raw); err != nil {
		return err
	}
	s.name = hex.EncodeToString(raw)
	return replace(file, []byte(s.name+"\n"))
}

func isSpoolName(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == 16
}

// begin starts a new part.
func (s *Spool) begin() error {
	p, err := openPart(filepath.Join(s.folder, partName(s.next)), s.next)
	if err != nil {
		return err
	}
	s.segments = append(s.segments, p)
	return syncFolder(s.folder)
}

// Append adds a record. When it fails, as on a full disk, nothing was added and
// nothing that was there is lost.
func (s *Spool) Append(data []byte) (number uint64, err error) {
	if len(data) > MaxRecord {
		return 0, fmt.Errorf("a record of %d bytes is longer than %d", len(data), MaxRecord)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size+int64(len(data)) > s.most {
		return 0, fmt.Errorf("%w (%d bytes)", ErrSpoolFull, s.size)
	}
	if s.last().length() >= partLength {
		if err := s.begin(); err != nil {
			return 0, fmt.Errorf("spool a record: %w", err)
		}
	}
	before := s.last().length()
	if err := s.last().append(data, s.write); err != nil {
		return 0, fmt.Errorf("spool a record: %w", err)
	}
	s.size += s.last().length() - before
	s.next++
	select {
	case s.grown <- struct{}{}:
	default:
	}
	return s.next - 1, nil
}

func (s *Spool) last() *part { return s.segments[len(s.segments)-1] }

// read returns record number, or nothing where there is none (any more).
func (s *Spool) read(number uint64) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number <= s.acked || number >= s.next {
		return nil, nil
	}
	for _, p := range s.segments {
		if number < p.first+uint64(len(p.ends)) {
			return p.read(int(number - p.first))
		}
	}
	return nil, nil
}

// acknowledge forgets all records up to number.
func (s *Spool) acknowledge(number uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number <= s.acked || number >= s.next {
		return nil
	}
	s.acked = number
	for len(s.segments) > 1 && s.segments[1].first <= number+1 {
		p := s.segments[0]
		if err := p.remove(); err != nil {
			return fmt.Errorf("remove acknowledged records: %w", err)
		}
		s.size -= p.length()
		s.segments = s.segments[1:]
	}
	if p := s.last(); number+1 == s.next && p.length() > 0 {
		size := p.length()
		if err := p.restart(filepath.Join(s.folder, partName(s.next)), s.next); err != nil {
			return fmt.Errorf("remove acknowledged records: %w", err)
		}
		s.size -= size
	}
	return nil
}

// Waiting is how many records the lab has not acknowledged.
func (s *Spool) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.next - 1 - s.acked)
}

// first is the number of the first record that waits, or of the next one.
func (s *Spool) firstWaiting() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked + 1
}

// Close lets the files go.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, p := range s.segments {
		err = errors.Join(err, p.file.Close())
	}
	return err
}
