package appconfig

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// ahead parses TOML files on all processors before anybody asks for them. Files are read by one goroutine only: not every fs.FS takes
// more.
type ahead struct {
	files   map[string]*parsing
	next    chan *parsing
	values  atomic.Int64 // in what was parsed
	waiting sync.WaitGroup
}

// parsing is a file that was read, and what became of it.
type parsing struct {
	file    string
	data    []byte
	err     error         // of reading it
	done    chan struct{} // closed once the rest is there
	table   *syntax.Table // nil with a problem, and if it was left out
	problem *diagnostic.Diagnostic
}

// begin starts with files, in the order in which they are probably asked for.
func (l *loader) begin(files []string) {
	files = files[:min(len(files), l.limits.Files)]
	l.ahead = &ahead{files: make(map[string]*parsing, len(files)), next: make(chan *parsing, len(files))}
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		l.ahead.waiting.Go(l.ahead.work)
	}
	for _, file := range files {
		one := &parsing{file: file, done: make(chan struct{})}
		l.ahead.files[file] = one
		if one.data, one.err = l.bytes(file, l.limits.TOMLFile); one.err != nil {
			close(one.done)
			continue
		}
		l.ahead.next <- one
	}
	close(l.ahead.next)
}

// work parses what was read. More values than a config may have are left out: whoever asks for them parses until it is too many.
func (a *ahead) work() {
	var parser syntax.Parser
	for one := range a.next {
		if a.values.Load() <= maxValues {
			if one.table, one.problem = parser.Parse(one.file, one.data); one.table != nil {
				a.values.Add(int64(one.table.Size()))
			}
		}
		close(one.done)
	}
}

// readAndParse gives what is in a TOML file. Without an error there is either a table or a problem.
func (l *loader) readAndParse(file string) (data []byte, table *syntax.Table, problem *diagnostic.Diagnostic, err error) {
	if one := l.ahead.files[file]; one != nil {
		<-one.done
		data, table, problem, err = one.data, one.table, one.problem, one.err
	} else {
		data, err = l.bytes(file, l.limits.TOMLFile)
	}
	if err == nil && table == nil && problem == nil {
		table, problem = l.toml.Parse(file, data)
	}
	return data, table, problem, err
}
