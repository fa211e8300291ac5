package fabric

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// part is one file of a spool: records in order, each behind its number, its
// length and a checksum of all three. What a crash left half written at the end
// is cut off when the file is opened.
type part struct {
	file  *os.File
	first uint64  // number of the first record; the file's name says it
	ends  []int64 // where each record ends
	torn  bool    // bytes that do not count may follow the last end
}

const partHead = 8 + 4 + 4

func partName(first uint64) string { return fmt.Sprintf("%020d%s", first, partSuffix) }

func partNumber(name string) (uint64, bool) {
	digits, found := strings.CutSuffix(name, partSuffix)
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, found && err == nil && len(digits) == 20 && n > 0
}

func openPart(name string, first uint64) (*part, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	p := &part{file: f, first: first}
	if err := p.scan(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return p, nil
}

// scan finds the whole records. Numbers below the first are of before the file
// was restarted; they and what follows are cut off.
func (p *part) scan() error {
	r := bufio.NewReader(p.file)
	at := int64(0)
	for {
		number, data, err := readRecord(r)
		if err != nil || number != p.first+uint64(len(p.ends)) {
			break
		}
		at += partHead + int64(len(data))
		p.ends = append(p.ends, at)
	}
	p.torn = true
	return p.mend()
}

// mend cuts off what does not count.
func (p *part) mend() error {
	if !p.torn {
		return nil
	}
	if err := p.file.Truncate(p.length()); err != nil {
		return err
	}
	if _, err := p.file.Seek(p.length(), io.SeekStart); err != nil {
		return err
	}
	p.torn = false
	return nil
}

func readRecord(r io.Reader) (number uint64, data []byte, err error) {
	head := make([]byte, partHead)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, nil, err
	}
	length := binary.BigEndian.Uint32(head[8:])
	if length > MaxRecord {
		return 0, nil, errors.New("a damaged record")
	}
	data = make([]byte, length)
	if _, err := io.ReadFull(r, data); err != nil {
		return 0, nil, err
	}
	if checksum(head, data) != binary.BigEndian.Uint32(head[12:]) {
		return 0, nil, errors.New("a damaged record")
	}
	return binary.BigEndian.Uint64(head), data, nil
}

func checksum(head, data []byte) uint32 {
	sum := crc32.Checksum(head[:12], crc32.MakeTable(crc32.Castagnoli))
	return crc32.Update(sum, crc32.MakeTable(crc32.Castagnoli), data)
}

func (p *part) length() int64 {
	if len(p.ends) == 0 {
		return 0
	}
	return p.ends[len(p.ends)-1]
}

// append writes a record and waits until the disk has it.
func (p *part) append(data []byte, write func(*os.File, []byte) (int, error)) error {
	if err := p.mend(); err != nil {
		return err
	}
	b := make([]byte, partHead, partHead+len(data))
	binary.BigEndian.PutUint64(b, p.first+uint64(len(p.ends)))
	binary.BigEndian.PutUint32(b[8:], uint32(len(data)))
	binary.BigEndian.PutUint32(b[12:], checksum(b, data))
	p.torn = true
	_, err := write(p.file, append(b, data...))
	if err == nil {
		err = p.file.Sync()
	}
	if err != nil {
		return errors.Join(err, p.mend())
	}
	p.torn = false
	p.ends = append(p.ends, p.length()+int64(len(b)+len(data)))
	return nil
}

func (p *part) read(i int) ([]byte, error) {
	start := int64(0)
	if i > 0 {
		start = p.ends[i-1]
	}
	number, data, err := readRecord(io.NewSectionReader(p.file, start, p.ends[i]-start))
	if err == nil && number != p.first+uint64(i) {
		err = errors.New("a damaged record")
	}
	if err != nil {
		return nil, fmt.Errorf("read record %d from %s: %w", p.first+uint64(i), p.file.Name(), err)
	}
	return data, nil
}

func (p *part) remove() error {
	return errors.Join(p.file.Close(), os.Remove(p.file.Name()))
}

// restart empties the file and gives it the number of a new first record. It
// needs no room on the disk. The name is changed first: should that be all that
// happens, the old records carry numbers that no longer count.
func (p *part) restart(name string, first uint64) error {
	if err := os.Rename(p.file.Name(), name); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	old := p.file
	p.file, p.first, p.ends, p.torn = f, first, nil, true
	return errors.Join(old.Close(), p.mend(), syncFolder(filepath.Dir(name)))
}

// replace writes a small file as a whole or not at all.
func replace(name string, data []byte) error {
	fresh := name + ".new"
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(fresh, name); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(name))
}

// syncFolder makes the names in a folder durable.
func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
