package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// storeName is the name of the file with the objects. The directory that has it is a cloud.
const storeName = "objects.jsonl"

// store holds the objects of a cloud in one file: a line of JSON for each write, of which the last
// line of a key counts. Processes share it through a lock. A process that is killed in the middle of
// a write leaves a line without an end, which the next one removes.
type store struct {
	directory string

	mu      sync.Mutex
	read    os.FileInfo // the file that objects were read from
	offset  int64       // how much of it was read
	lines   int         // how many lines that is
	objects map[string]*stored
	counts  map[string]int
}

// record is a line of the file.
type record struct {
	// Key is "type/id".
	Key string `json:"key,omitempty"`
	// Object has the attributes. A record without them removes the object.
	Object json.RawMessage `json:"object,omitempty"`
	// Count is a counter's name, and Number its value.
	Count  string `json:"count,omitempty"`
	Number int    `json:"number,omitempty"`
}

// stored is an object, parsed when it is first needed.
type stored struct {
	key    string
	number int // the order of creation
	raw    json.RawMessage
	parsed object
}

// typ returns the resource type of an object.
func (o *stored) typ() string {
	typ, _, _ := strings.Cut(o.key, "/")
	return typ
}

// attributes returns the attributes as plain JSON. The caller does not change them.
func (o *stored) attributes() object {
	if o.parsed == nil {
		o.parsed = object{}
		decoder := json.NewDecoder(bytes.NewReader(o.raw))
		decoder.UseNumber()
		_ = decoder.Decode(&o.parsed) // the store wrote it
	}
	return o.parsed
}

// findCloud returns the directory of the cloud that a program belongs to: the nearest one above it
// with a store.
func findCloud(program string) (string, error) {
	if resolved, err := filepath.EvalSymlinks(program); err == nil {
		program = resolved
	}
	for dir := filepath.Dir(program); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, storeName)); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is in no simulated cloud: no directory above it has %s", program, storeName)
		}
	}
}

// transaction is exclusive access to the store.
type transaction struct {
	*store
	added []record
}

// update runs do with exclusive access, and then writes what it changed. It writes nothing if do
// returns an error.
func (s *store) update(do func(*transaction) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	lock, err := os.OpenFile(filepath.Join(s.directory, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }() // this releases it
	if err := flock(lock); err != nil {
		return fmt.Errorf("lock the store: %w", err)
	}
	if err := s.load(); err != nil {
		return fmt.Errorf("read the store: %w", err)
	}
	t := &transaction{store: s}
	if err = do(t); err == nil && len(t.added) > 0 {
		err = s.append(t.added)
	}
	if err != nil {
		s.read = nil // the memory may have what the file does not have
	}
	return err
}

func flock(file *os.File) error {
	for {
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

func (s *store) file() string { return filepath.Join(s.directory, storeName) }

// load reads what was written since the last call, or everything if the file was replaced.
func (s *store) load() error {
	file, err := os.OpenFile(s.file(), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		s.reset(nil)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if s.read == nil || !os.SameFile(s.read, info) || info.Size() < s.offset {
		s.reset(info)
	}
	if _, err := file.Seek(s.offset, io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(file, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(line) > 0 {
				return file.Truncate(s.offset)
			}
			return nil
		}
		if err != nil {
			return err
		}
		r, err := parseRecord(line)
		if err != nil {
			return fmt.Errorf("line %d: %w", s.lines+1, err)
		}
		s.apply(r)
		s.offset += int64(len(line))
	}
}

// parseRecord parses a line. It does not read the attributes of an object: most processes need few of
// thousands of objects.
func parseRecord(line []byte) (r record, err error) {
	if rest, is := bytes.CutPrefix(line, []byte(`{"key":"`)); is {
		key, object, is := bytes.Cut(rest, []byte(`","object":`))
		if end := []byte("}\n"); is && !bytes.ContainsAny(key, `"\`) && bytes.HasSuffix(object, end) {
			return record{Key: string(key), Object: bytes.Clone(object[:len(object)-len(end)])}, nil
		}
	}
	err = json.Unmarshal(line, &r)
	return r, err
}

func (s *store) reset(info os.FileInfo) {
	s.read, s.offset, s.lines, s.objects, s.counts = info, 0, 0, map[string]*stored{}, map[string]int{}
}

// apply applies a line to the objects in memory.
func (s *store) apply(r record) {
	s.lines++
	switch {
	case r.Count != "":
		s.counts[r.Count] = r.Number
	case r.Object == nil:
		delete(s.objects, r.Key)
	default:
		number := s.lines
		if has := s.objects[r.Key]; has != nil {
			number = has.number
		}
		s.objects[r.Key] = &stored{key: r.Key, number: number, raw: r.Object}
	}
}

// append writes lines. When most lines of the file no longer count, it replaces the file.
func (s *store) append(records []record) error {
	if s.lines > 1000 && s.lines > 4*(len(s.objects)+len(s.counts)) {
		return s.replace()
	}
	file, err := os.OpenFile(s.file(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	written, err := file.Write(encodeRecords(records))
	s.offset += int64(written)
	return errors.Join(err, file.Close())
}

// replace writes the objects to a new file, in the order of creation, and replaces the old file.
func (s *store) replace() error {
	var records []record
	for _, o := range s.ordered("") {
		records = append(records, record{Key: o.key, Object: o.raw})
	}
	for _, name := range sortedKeys(s.counts) {
		records = append(records, record{Count: name, Number: s.counts[name]})
	}
	if err := os.WriteFile(s.file()+".new", encodeRecords(records), 0o600); err != nil {
		return err
	}
	s.read = nil
	return os.Rename(s.file()+".new", s.file())
}

func encodeRecords(records []record) []byte {
	var made bytes.Buffer
	encoder := json.NewEncoder(&made)
	encoder.SetEscapeHTML(false)
	for _, r := range records {
		_ = encoder.Encode(r) // a buffer takes everything, and objects are valid JSON
	}
	return made.Bytes()
}
