package appconfig

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// ahead parses TOML files on all processors before the loader needs them. One goroutine alone reads
// the files, because not every fs.FS supports concurrent reads.
type ahead struct {
	files   map[string]*parsing
	next    chan *parsing
	values  atomic.Int64 // the values in all files parsed so far
	waiting sync.WaitGroup
}

// parsing is a file that was read, and the result of parsing it.
type parsing struct {
	file    string
	data    []byte
	err     error         // of reading it
	done    chan struct{} // closed once table or problem is set
	table   *syntax.Table // nil if there is a problem, or if the file was left unparsed
	problem *diagnostic.Diagnostic
}

// begin starts to read and parse files, in the order in which the loader probably needs them.
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

// work parses the files that were read. Once more values were parsed than a config may have, it
// leaves the remaining files unparsed: readAndParse then parses them one by one until the loader
// reports that there are too many.
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

// readAndParse returns the bytes and the content of a TOML file. Without an error it returns either
// a table or a problem.
func (l *loader) readAndParse(file string) (data []byte, table *syntax.Table, problem *diagnostic.Diagnostic,
	err error) {
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
