package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/nuon-toolkit/nuon/pkg/api"
	"github.com/nuon-toolkit/nuon/runnerd/untrusted"
)

// OpenLog opens the log of the attempt for appending. Each Write must consist of complete
// lines, each the JSON of an api.LogLine.
func (a Attempt) OpenLog() (*os.File, error) {
	out, err := untrusted.Open(a.Dir, logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return nil, fmt.Errorf("open the log of the attempt: %w", err)
	}
	return out, nil
}

// AppendLines appends runnerd's own lines to the log after the job process has ended.
// It first terminates a line that the job process left incomplete.
func (a Attempt) AppendLines(level api.LogLineL, messages ...string) error {
	out, err := a.OpenLog()
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	torn, err := a.logIsTorn()
	if err != nil {
		return err
	}
	var text []byte
	if torn {
		text = append(text, '\n')
	}
	for _, message := range messages {
		line, err := json.Marshal(api.LogLine{T: time.Now().UTC(), L: level, M: message})
		if err != nil {
			return fmt.Errorf("append to the log of the attempt: %w", err)
		}
		text = append(append(text, line...), '\n')
	}
	if _, err := out.Write(text); err != nil {
		return fmt.Errorf("append to the log of the attempt: %w", err)
	}
	return nil
}

func (a Attempt) logIsTorn() (bool, error) {
	in, err := untrusted.Open(a.Dir, logFile, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the log of the attempt: %w", err)
	}
	defer func() { _ = in.Close() }()
	size, err := in.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return false, err
	}
	last := make([]byte, 1)
	if _, err := in.ReadAt(last, size-1); err != nil {
		return false, fmt.Errorf("read the log of the attempt: %w", err)
	}
	return last[0] != '\n', nil
}
