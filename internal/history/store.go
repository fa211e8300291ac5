package history

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// schema is the version of what the cache holds: raise it with every change of entry, of Run or of how they are read from a folder.
const schema = 2

const (
	mostCache  = 512 << 20     // bytes of a file of the cache
	leftover   = 1 * time.Hour // age from which a file that was not finished is one of a process that was killed
	unfinished = ".new-"
)

// kept is a file of the cache: the entries of one folder.
type kept struct {
	Folder  string
	Entries map[string]entry
}

// load reads the entries of a folder from the cache. A file that is missing, damaged or of another version has none.
func load(cache, folder string) map[string]entry {
	none := map[string]entry{}
	if cache == "" {
		return none
	}
	f, err := os.Open(cacheFile(cache, folder))
	if err != nil {
		return none
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > mostCache {
		return none
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return none
	}
	k, ok := unpack(data)
	if !ok || k.Folder != folder {
		return none
	}
	return k.Entries
}

// unpack decodes a file of the cache.
func unpack(data []byte) (k kept, ok bool) {
	head, body, found := bytes.Cut(data, []byte("\n"))
	if !found || string(head) != header(body) {
		return k, false
	}
	err := gob.NewDecoder(bytes.NewReader(body)).Decode(&k)
	if err != nil || k.Entries == nil {
		return kept{}, false
	}
	return k, true
}

func pack(k kept) ([]byte, error) {
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(k); err != nil {
		return nil, err
	}
	return append([]byte(header(body.Bytes())+"\n"), body.Bytes()...), nil
}

// header is the first line: version and checksum.
func header(body []byte) string {
	return fmt.Sprintf("plimsoll runs %d %08x", schema, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}

// save writes the entries of a folder to the cache, by rename: of two processes the last one wins, and both are right. What cannot be
// written is read from the folders again.
func save(cache, folder string, entries map[string]entry) {
	if cache == "" || os.MkdirAll(cache, 0o700) != nil {
		return
	}
	data, err := pack(kept{folder, entries})
	if err != nil {
		return
	}
	f, err := os.CreateTemp(cache, unfinished+"*")
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), cacheFile(cache, folder))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	sweep(cache)
}

// sweep removes what killed processes left.
func sweep(cache string) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), unfinished) && time.Since(info.ModTime()) > leftover {
			_ = os.Remove(filepath.Join(cache, e.Name()))
		}
	}
}

func cacheFile(cache, folder string) string { return filepath.Join(cache, ID(folder)) }
