package appconfig

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/nuon-toolkit/nuon/pkg/appconfig/syntax"
	"github.com/nuon-toolkit/nuon/pkg/diagnostic"
)

// prefetcher parses TOML files on all processors before the loader needs them. One goroutine alone reads
// the files, because not every fs.FS supports concurrent reads.
type prefetcher struct {
	files   map[string]*parseTask
	queue   chan *parseTask
	values  atomic.Int64 // the values in all files parsed so far
	workers sync.WaitGroup
}

// parseTask is a file that was read, and the result of parsing it.
type parseTask struct {
	file    string
	data    []byte
	err     error         // of reading it
	done    chan struct{} // closed once table or problem is set
	table   *syntax.Table // nil if there is a problem, or if the file was left unparsed
	problem *diagnostic.Diagnostic
}

// startParsing starts to read and parse files, in the order in which the loader probably needs them.
func (l *loader) startParsing(files []string) {
	files = files[:min(len(files), l.limits.Files)]
	l.prefetcher = &prefetcher{files: make(map[string]*parseTask, len(files)), queue: make(chan *parseTask, len(files))}
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		l.prefetcher.workers.Go(l.prefetcher.work)
	}
	for _, file := range files {
		task := &parseTask{file: file, done: make(chan struct{})}
		l.prefetcher.files[file] = task
		if task.data, task.err = l.readBytes(file, l.limits.TOMLFile); task.err != nil {
			close(task.done)
			continue
		}
		l.prefetcher.queue <- task
	}
	close(l.prefetcher.queue)
}

// work parses the files that were read. Once more values were parsed than a config may have, it
// leaves the remaining files unparsed: readAndParse then parses them one by one until the loader
// reports that there are too many.
func (p *prefetcher) work() {
	var parser syntax.Parser
	for task := range p.queue {
		if p.values.Load() <= maxValues {
			if task.table, task.problem = parser.Parse(task.file, task.data); task.table != nil {
				p.values.Add(int64(task.table.Size()))
			}
		}
		close(task.done)
	}
}

// readAndParse returns the bytes and the content of a TOML file. Without an error it returns either
// a table or a problem.
func (l *loader) readAndParse(file string) (data []byte, table *syntax.Table, problem *diagnostic.Diagnostic,
	err error) {
	if task := l.prefetcher.files[file]; task != nil {
		<-task.done
		data, table, problem, err = task.data, task.table, task.problem, task.err
	} else {
		data, err = l.readBytes(file, l.limits.TOMLFile)
	}
	if err == nil && table == nil && problem == nil {
		table, problem = l.toml.Parse(file, data)
	}
	return data, table, problem, err
}
